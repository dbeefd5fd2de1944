#pragma once
// MobileNetV2 (Sandler et al., 2018, arXiv:1801.04381). mobilenet_v2 is identical to torchvision's.
// The others are timm's: the same network with other numbers of channels and blocks. All have
// torchvision's names and initial weights.

#include <vector>

#include "models/network.h"

namespace shoal::models {

struct MobileNetV2Row {
  const char* name;
  double width, depth;  // factors for the numbers of channels and of blocks
};

const std::vector<MobileNetV2Row>& mobilenets_v2();

Network mobilenet_v2(const MobileNetV2Row& row, const ModelOptions& options);

}  // namespace shoal::models
