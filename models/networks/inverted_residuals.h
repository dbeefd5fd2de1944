#pragma once
// Networks of inverted residual blocks under torchvision's names: the EfficientNets.

#include <string>
#include <vector>

#include "models/network.h"

namespace shoal::models {

// One stage of blocks. `expand`: factor of the channels inside a block. Only the first block
// applies the stride and changes the channel count from `in` to `out`.
struct Stage {
  int64_t expand, kernel, stride, in, out, repeats;
  // Whether one k×k convolution replaces expansion and depthwise convolution, and there is no
  // squeeze-excite.
  bool fused = false;
};

struct InvertedResiduals {
  std::vector<Stage> stages;  // the first stage's `in` is the stem's channel count
  int64_t head = 0;           // channels before the classifier
  bool lite = false;          // ReLU6, no squeeze-excite, TensorFlow's padding; otherwise SiLU
  double batch_norm_eps = 1e-5;
};

// `info`: all fields except those that NetworkBuilder::finish() sets.
Network inverted_residuals(const InvertedResiduals& layout, const ModelInfo& info,
                           const ModelOptions& options);

}  // namespace shoal::models
