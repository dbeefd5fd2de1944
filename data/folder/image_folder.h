#pragma once
// Dataset of a folder of class folders, like torchvision's ImageFolder.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace shoal::data {

struct ImageFolderOptions {
  std::string cache_dir;  // folder of the listing cache; empty: no cache
  int threads = 16;       // threads that list; they mostly wait for the file system
  std::function<void(int64_t files)> progress;  // called while listing; see ListingProgress
  // Called with a sentence about files that are left out, or a cache that cannot be written.
  std::function<void(const std::string&)> warning;
};

// Opens `path`. Lists it unless the cached listing is still valid. Throws what list_folder()
// throws; read() throws what read_image_file() throws.
std::shared_ptr<const Dataset> open_image_folder(const std::string& path,
                                                 const ImageFolderOptions& options = {});

// Replaces `bytes` with the file's content. Throws DamagedImage if the file cannot be read or is
// too large to be an image, std::runtime_error if no other file can be read either (the folder is
// gone).
void read_image_file(const std::string& path, std::vector<uint8_t>& bytes);
// Hints to the system that the file will be read soon.
void will_read_image_file(const std::string& path);

}  // namespace shoal::data
