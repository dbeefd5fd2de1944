#pragma once
// ImageNet's development kit as it is downloaded, ILSVRC2012_devkit_t12.tar.gz: what classes the
// validation images have.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shoal::data {

struct Devkit {
  std::string ground_truth;   // ILSVRC2012_validation_ground_truth.txt
  std::vector<uint8_t> meta;  // meta.mat
};

// Nothing where the file is no tar, compressed or not. Throws std::invalid_argument when it is one
// without these two, or damaged; FileFailure.
std::optional<Devkit> open_devkit(const std::string& path);

}  // namespace shoal::data
