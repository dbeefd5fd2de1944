#include "models/networks/inverted_residuals.h"

#include <algorithm>

#include "models/network_builder.h"

namespace shoal::models {
namespace {

// Adds the layers of one network.
class Layers {
 public:
  Layers(NetworkBuilder& builder, bool lite)
      : b_(builder),
        lite_(lite),
        activation_(lite ? ops::Activation::relu6 : ops::Activation::silu) {}

  int conv_norm(const std::string& name, int x, const ConvolutionOptions& options) {
    return b_.conv_norm(name, x, padded(options), activation_);
  }

  // Inverted residual block: 1×1 expansion, depthwise convolution, squeeze-excite, 1×1 projection.
  // A fused block: k×k expansion, 1×1 projection; without expansion, only one k×k convolution with
  // an activation. Adds the input if the shapes match. Every block takes a mask index, even one
  // that adds no input, so that the index is the block's number.
  int block(const std::string& name, int input, const Stage& s, double drop) {
    const uint64_t mask_layer = b_.next_mask_layer();
    const int64_t wide = s.in * s.expand;
    const bool single = s.fused && s.expand == 1;
    int part = 0, x = input;
    const auto next = [&] { return name + ".block." + std::to_string(part++); };
    if (s.fused) {
      if (!single) x = conv_norm(next(), x, {.out = wide, .kernel = s.kernel, .stride = s.stride});
    } else {
      if (s.expand != 1) x = conv_norm(next(), x, {.out = wide});
      x = conv_norm(next(), x,
                    {.out = wide, .kernel = s.kernel, .stride = s.stride, .groups = wide});
      if (!lite_) x = b_.squeeze_excite(next(), x, std::max<int64_t>(1, s.in / 4));
    }
    const std::string last = next();
    x = b_.convolution(last + ".0", x,
                       padded(single ? ConvolutionOptions{s.out, s.kernel, s.stride}
                                     : ConvolutionOptions{.out = s.out}));
    Norm norm = b_.norm_state(last + ".1", s.out);
    if (single) {
      norm.activation = activation_;
      norm.adds_last = true;
    }
    if (s.stride != 1 || s.in != s.out) return b_.norm(last + ".1", x, norm);
    norm.drop = drop;
    norm.mask_layer = mask_layer;
    return b_.norm(last + ".1", x, norm, input);
  }

 private:
  ConvolutionOptions padded(ConvolutionOptions options) const {
    options.padding = lite_ ? Padding::same : Padding::symmetric;
    return options;
  }

  NetworkBuilder& b_;
  bool lite_;
  ops::Activation activation_;
};

}  // namespace

Network inverted_residuals(const InvertedResiduals& layout, const ModelInfo& info,
                           const ModelOptions& options) {
  NetworkBuilder b(options.channels, info.eval_size,
                   {layout.batch_norm_eps, info.batch_norm_momentum});
  Layers layers(b, layout.lite);
  const std::vector<Stage>& stages = layout.stages;
  b.begin_stage("features.0");
  int x =
      layers.conv_norm("features.0", kImages, {.out = stages.front().in, .kernel = 3, .stride = 2});
  int64_t total = 0, done = 0;
  for (const Stage& s : stages) total += s.repeats;
  for (size_t i = 0; i < stages.size(); ++i) {
    Stage s = stages[i];
    const std::string name = "features." + std::to_string(i + 1);
    b.begin_stage(name);
    for (int64_t repeat = 0; repeat < s.repeats; ++repeat, ++done) {
      b.begin_block();
      const double drop = info.drop_path * static_cast<double>(done) / static_cast<double>(total);
      x = layers.block(name + "." + std::to_string(repeat), x, s, drop);
      s.in = s.out;
      s.stride = 1;
    }
  }
  const std::string head = "features." + std::to_string(stages.size() + 1);
  b.begin_stage(head);
  b.begin_block();
  x = layers.conv_norm(head, x, {.out = layout.head});
  b.begin_stage("classifier");
  b.begin_block();
  x = b.pooled_features(x, info.dropout);
  b.linear("classifier.1", x, options.classes, LinearInit::by_outputs);
  return b.finish(info);
}

}  // namespace shoal::models
