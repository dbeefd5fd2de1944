#pragma once
// ImageNet's development kit as downloaded (ILSVRC2012_devkit_t12.tar.gz), which has the classes of
// the validation images.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shoal::data {

struct Devkit {
  std::string ground_truth;   // ILSVRC2012_validation_ground_truth.txt
  std::vector<uint8_t> meta;  // meta.mat
};

// Returns nothing if the file is not a tar, compressed or not. Throws std::invalid_argument if the
// tar is damaged or lacks one of the two files; FileFailure.
std::optional<Devkit> open_devkit(const std::string& path);

}  // namespace shoal::data
