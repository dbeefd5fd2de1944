#include "models/networks/inverted_residuals.h"

#include <algorithm>
#include <cmath>

namespace shoal::models {

int inverted_residual(NetworkBuilder& b, const std::string& name, int input,
                      const InvertedResidual& s, double drop) {
  const uint64_t mask_layer = b.next_mask_layer();
  const bool expands = s.wide != s.in, single = s.fused && !expands;
  int part = 0, x = input;
  const auto next = [&] { return name + (s.flat ? ".conv." : ".block.") + std::to_string(part++); };
  const auto conv_norm = [&](ConvolutionOptions options) {
    options.padding = s.padding;
    x = b.conv_norm(next(), x, options, s.activation);
  };
  if (s.fused) {
    if (expands) conv_norm({.out = s.wide, .kernel = s.kernel, .stride = s.stride});
  } else {
    if (expands) conv_norm({.out = s.wide});
    conv_norm({.out = s.wide, .kernel = s.kernel, .stride = s.stride, .groups = s.wide});
    if (s.squeezed > 0) x = b.squeeze_excite(next(), x, s.squeezed, s.hard);
  }
  const std::string last = next(), normed = s.flat ? next() : last + ".1";
  ConvolutionOptions projection{.out = s.out, .padding = s.padding};
  if (single) projection.kernel = s.kernel, projection.stride = s.stride;
  x = b.convolution(s.flat ? last : last + ".0", x, projection);
  Norm norm = b.norm_state(normed, s.out);
  if (single) {
    norm.activation = s.activation;
    norm.adds_last = true;
  }
  if (s.stride != 1 || s.in != s.out) return b.norm(normed, x, norm);
  norm.drop = drop;
  norm.mask_layer = mask_layer;
  return b.norm(normed, x, norm, input);
}

std::vector<Stage> scaled(std::span<const Stage> base, double width, double depth, bool stem,
                          bool ends) {
  std::vector<Stage> stages(base.begin(), base.end());
  for (Stage& s : stages) {
    const bool first = &s == &stages.front(), last = &s == &stages.back();
    if (stem || !first) s.in = multiple_of_8(static_cast<double>(s.in) * width);
    s.out = multiple_of_8(static_cast<double>(s.out) * width);
    if (ends || !(first || last))
      s.repeats = static_cast<int64_t>(std::ceil(static_cast<double>(s.repeats) * depth));
  }
  return stages;
}

Network inverted_residuals(const InvertedResiduals& layout, const ModelInfo& info,
                           const ModelOptions& options) {
  NetworkBuilder b(options.channels, info.eval_size,
                   {layout.batch_norm_eps, info.batch_norm_momentum});
  const auto activation = layout.lite ? ops::Activation::relu6 : ops::Activation::silu;
  const Padding padding = layout.lite ? Padding::same : Padding::symmetric;
  const std::vector<Stage>& stages = layout.stages;
  b.begin_stage("features.0");
  int x = b.conv_norm("features.0", kImages,
                      {.out = stages.front().in, .kernel = 3, .stride = 2, .padding = padding},
                      activation);
  int64_t total = 0, done = 0;
  for (const Stage& s : stages) total += s.repeats;
  for (size_t i = 0; i < stages.size(); ++i) {
    Stage s = stages[i];
    const std::string name = "features." + std::to_string(i + 1);
    b.begin_stage(name);
    for (int64_t repeat = 0; repeat < s.repeats; ++repeat, ++done) {
      b.begin_block();
      const double drop = info.drop_path * static_cast<double>(done) / static_cast<double>(total);
      const int64_t squeezed = layout.lite || s.fused ? 0 : std::max<int64_t>(1, s.in / 4);
      x = inverted_residual(b, name + "." + std::to_string(repeat), x,
                            {.in = s.in,
                             .wide = s.in * s.expand,
                             .out = s.out,
                             .kernel = s.kernel,
                             .stride = s.stride,
                             .activation = activation,
                             .squeezed = squeezed,
                             .padding = padding,
                             .fused = s.fused},
                            drop);
      s.in = s.out;
      s.stride = 1;
    }
  }
  const std::string head = "features." + std::to_string(stages.size() + 1);
  b.begin_stage(head);
  b.begin_block();
  x = b.conv_norm(head, x, {.out = layout.head, .padding = padding}, activation);
  b.begin_stage("classifier");
  b.begin_block();
  x = b.pooled_features(x, info.dropout);
  b.linear("classifier.1", x, options.classes, LinearInit::by_outputs);
  return b.finish(info);
}

}  // namespace shoal::models
