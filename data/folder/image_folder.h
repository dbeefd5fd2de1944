#pragma once
// Dataset of a folder of class folders, like torchvision's ImageFolder.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace shoal::data {

// Opens the folder `path`. Lists it unless there is a valid cached listing. Uses only cache_dir,
// threads, progress and warning of the options. Throws what list_folder() throws. The dataset's
// read() throws what read_image_file() throws.
std::shared_ptr<const Dataset> open_image_folder(const std::string& path,
                                                 const OpenOptions& options = {});

// Replaces `bytes` with the file's content. Throws DamagedImage if only this file cannot be read,
// or if it is too large for an image (kMaxFileBytes). Throws std::runtime_error if the error would
// affect other files too (the folder was removed, no memory).
void read_image_file(const std::string& path, std::vector<uint8_t>& bytes);
// Hints to the system that the file will be read soon. Ignores errors.
void will_read_image_file(const std::string& path);

}  // namespace shoal::data
