#pragma once
// EfficientNet B0 to B7 (Tan and Le, 2019, arXiv:1905.11946), identical to torchvision's, and
// EfficientNet-Lite 0 to 4 (TensorFlow's TPU repository, 2020). The Lite models have ReLU6, no
// squeeze-excite, and the same size of stem and head in all five. They pad like TensorFlow, so
// weights trained there give the same logits. Their modules are named as in B0 to B7.

#include <string>
#include <vector>

#include "models/network.h"

namespace shoal::models {

struct EfficientNetRow {
  const char* name;
  bool lite;
  double width, depth;  // compound scaling: factors of the channel and block counts
  double dropout;       // dropout rate before the classifier
  double batch_norm_eps, batch_norm_momentum;
  int64_t train_size, eval_size, eval_resize;  // pixels; see ModelInfo
};

const std::vector<EfficientNetRow>& efficientnets();

Network efficientnet(const EfficientNetRow& row, const ModelOptions& options);

}  // namespace shoal::models
