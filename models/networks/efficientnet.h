#pragma once
// EfficientNet B0 to B7 (Tan and Le, 2019, arXiv:1905.11946), identical to torchvision's, and
// EfficientNet-Lite 0 to 4 (TensorFlow's TPU repository, 2020). The Lite models use ReLU6 and no
// squeeze-excite, and scale neither the stem nor the head. They pad like TensorFlow, so weights
// trained in TensorFlow give the same logits. Their modules have the same names as those of B0 to
// B7.

#include <string>
#include <vector>

#include "models/network.h"

namespace shoal::models {

struct EfficientNetRow {
  const char* name;
  bool lite;
  double width, depth;  // compound scaling: factors for the numbers of channels and of blocks
  double dropout;       // dropout rate before the classifier
  double batch_norm_eps, batch_norm_momentum;
  int64_t train_size, eval_size, eval_resize;  // pixels; see ModelInfo
};

const std::vector<EfficientNetRow>& efficientnets();

Network efficientnet(const EfficientNetRow& row, const ModelOptions& options);

}  // namespace shoal::models
