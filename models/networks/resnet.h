#pragma once
// ResNet 18 to 152 (He et al., 2015, arXiv:1512.03385) with the stride on the 3×3 convolution
// ("v1.5"), identical to torchvision's.

#include <vector>

#include "models/network.h"

namespace shoal::models {

struct ResNetRow {
  const char* name;
  // true: blocks of 1×1, 3×3 and 1×1 convolutions; the last has 4 times as many output channels as
  // the others. false: blocks of two 3×3 convolutions.
  bool bottleneck;
  int64_t repeats[4];  // blocks per stage
};

const std::vector<ResNetRow>& resnets();

Network resnet(const ResNetRow& row, const ModelOptions& options);

}  // namespace shoal::models
