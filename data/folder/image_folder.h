#pragma once
// A folder of class folders of images, as torchvision's ImageFolder reads it.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace shoal::data {

struct ImageFolderOptions {
  std::string cache_dir;  // where the listing is kept between runs; empty: nowhere
  int threads = 16;       // that list; they mostly wait for the file system
  std::function<void(int64_t files)> progress;  // while listing, see ListingProgress
  // A sentence: what is left out, or that the cache could not be written.
  std::function<void(const std::string&)> warning;
};

// Opens `path`, listing it unless the cache still holds. Errors: see list_folder(). read() throws
// what read_image_file() does.
std::shared_ptr<const Dataset> open_image_folder(const std::string& path,
                                                 const ImageFolderOptions& options = {});

// Replaces `bytes` with the file. Throws DamagedImage where it cannot be read or is too large to
// be an image, std::runtime_error where no other file could be read either (the folder is
// gone).
void read_image_file(const std::string& path, std::vector<uint8_t>& bytes);
// It will be read before long: a hint to the system.
void will_read_image_file(const std::string& path);

}  // namespace shoal::data
