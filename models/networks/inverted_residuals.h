#pragma once
// Inverted residual blocks, and networks of them (the EfficientNets), with torchvision's module
// names.

#include <span>
#include <string>
#include <vector>

#include "models/network_builder.h"

namespace shoal::models {

struct InvertedResidual {
  int64_t in, wide, out;  // channels of the input, inside the block, and of the output
  int64_t kernel, stride;
  ops::Activation activation;
  int64_t squeezed = 0;  // channels inside squeeze-excite; 0: no squeeze-excite
  bool hard = false;     // whether squeeze-excite uses the hard sigmoid
  Padding padding = Padding::symmetric;
  bool fused = false;  // see inverted_residual()
  // Whether modules are named NAME.conv.N, as in MobileNetV2, instead of NAME.block.N. The last
  // convolution and its batch norm are then NAME.conv.N and NAME.conv.(N+1); otherwise they are
  // NAME.block.N.0 and NAME.block.N.1.
  bool flat = false;
};

// Adds an inverted residual block: 1×1 expansion (unless wide == in), depthwise convolution,
// squeeze-excite and 1×1 projection. A fused block has only a k×k expansion and a 1×1 projection.
// If wide == in, it is a single k×k convolution with an activation. If input and output have the
// same shape, the block adds its input to its output. `drop`: see Norm in network.h. Every block
// calls next_mask_layer(), even if it does not add its input. So block n, counted from 0 over all
// stages, has mask index n.
int inverted_residual(NetworkBuilder& builder, const std::string& name, int input,
                      const InvertedResidual& block, double drop);

// One stage of `repeats` blocks. A block has `expand` times as many channels inside as at its
// input. Only the first block applies the stride and changes the number of channels from `in` to
// `out`.
struct Stage {
  int64_t expand, kernel, stride, in, out, repeats;
  // Whether one k×k convolution replaces expansion, depthwise convolution and squeeze-excite.
  bool fused = false;
};

// Returns the stages with `width` times the channels, as multiples of 8, and `depth` times the
// blocks, rounded up. `stem`: whether the first stage's `in` is scaled. `ends`: whether the first
// and the last stage get more blocks.
std::vector<Stage> scaled(std::span<const Stage> base, double width, double depth, bool stem,
                          bool ends);

struct InvertedResiduals {
  std::vector<Stage> stages;  // the first stage's `in` is the stem's channel count
  int64_t head = 0;           // channels before the classifier
  bool lite = false;          // ReLU6 instead of SiLU, no squeeze-excite, TensorFlow's padding
  double batch_norm_eps = 1e-5;
};

// `info`: with all fields set except those that NetworkBuilder::finish() sets.
Network inverted_residuals(const InvertedResiduals& layout, const ModelInfo& info,
                           const ModelOptions& options);

}  // namespace shoal::models
