#pragma once
// MobileNetV3 Large and Small (Howard et al., 2019, arXiv:1905.02244), identical to torchvision's.

#include <vector>

#include "models/network.h"

namespace shoal::models {

struct MobileNetV3Row {
  struct Block {
    int64_t in, kernel, wide, out;  // wide: channels after the expansion
    bool squeezes, swish;           // has squeeze-excite; uses hard swish instead of ReLU
    int64_t stride;
  };
  const char* name;
  std::vector<Block> blocks;
  int64_t hidden;  // channels of the layer before the classifier
};

const std::vector<MobileNetV3Row>& mobilenets_v3();

Network mobilenet_v3(const MobileNetV3Row& row, const ModelOptions& options);

}  // namespace shoal::models
