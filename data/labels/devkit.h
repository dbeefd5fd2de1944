#pragma once
// Reads ImageNet's development kit (ILSVRC2012_devkit_t12.tar.gz), which lists the classes of the
// validation images.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shoal::data {

struct Devkit {
  std::string ground_truth;   // ILSVRC2012_validation_ground_truth.txt
  std::vector<uint8_t> meta;  // meta.mat
};

// Opens the development kit `path` and reads the two files of struct Devkit. Returns nothing if
// `path` is neither a tar nor a tar compressed with gzip. Throws std::invalid_argument if the kit
// is damaged or lacks one of the two files, FileFailure if `path` cannot be read.
std::optional<Devkit> open_devkit(const std::string& path);

}  // namespace shoal::data
