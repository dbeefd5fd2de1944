#pragma once
// EfficientNetV2 S, M and L (Tan and Le, 2021, arXiv:2104.00298), identical to torchvision's.

#include <vector>

#include "models/networks/inverted_residuals.h"

namespace shoal::models {

struct EfficientNetV2Row {
  const char* name;
  std::vector<Stage> stages;
  double dropout;
  int64_t train_size, eval_size;  // pixels
  bool large;                     // L: bicubic interpolation, pixels normalized to [-1, 1]
};

const std::vector<EfficientNetV2Row>& efficientnets_v2();

Network efficientnet_v2(const EfficientNetV2Row& row, const ModelOptions& options);

}  // namespace shoal::models
