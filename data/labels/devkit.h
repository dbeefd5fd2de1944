#pragma once
// ImageNet's development kit as downloaded (ILSVRC2012_devkit_t12.tar.gz). It contains the classes
// of the validation images.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shoal::data {

struct Devkit {
  std::string ground_truth;   // ILSVRC2012_validation_ground_truth.txt
  std::vector<uint8_t> meta;  // meta.mat
};

// Reads the two files from the kit. Returns nothing if `path` is neither a tar nor a compressed
// tar. Throws std::invalid_argument if the tar is damaged or one of the two files is missing,
// FileFailure if `path` cannot be read.
std::optional<Devkit> open_devkit(const std::string& path);

}  // namespace shoal::data
