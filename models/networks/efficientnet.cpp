#include "models/networks/efficientnet.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "models/network_builder.h"

namespace shoal::models {
namespace {

// One stage of inverted residual blocks. Only the first block applies the stride and changes the
// channel count from `in` to `out`.
struct Stage {
  int64_t expand, kernel, stride, in, out, repeats;
};

constexpr Stage kB0[] = {
    {1, 3, 1, 32, 16, 1},  {6, 3, 2, 16, 24, 2},   {6, 5, 2, 24, 40, 2},   {6, 3, 2, 40, 80, 3},
    {6, 5, 1, 80, 112, 3}, {6, 5, 2, 112, 192, 4}, {6, 3, 1, 192, 320, 1},
};
constexpr int64_t kLiteHead = 1280;  // channels
constexpr double kLiteMean = 127.0 / 255, kLiteStd = 128.0 / 255;
constexpr Normalization kLiteNormalization = {{kLiteMean, kLiteMean, kLiteMean},
                                              {kLiteStd, kLiteStd, kLiteStd}};

// Scales the channel count and rounds it to a multiple of 8, never below 90 % of the scaled value.
int64_t scale_channels(int64_t channels, double width) {
  const double scaled = static_cast<double>(channels) * width;
  const int64_t rounded = std::max<int64_t>(8, static_cast<int64_t>(scaled + 4) / 8 * 8);
  return static_cast<double>(rounded) < 0.9 * scaled ? rounded + 8 : rounded;
}

// The stages of a model. The first stage's `in` is the stem's channel count. Lite scales neither
// that nor the block counts of the first and the last stage.
std::vector<Stage> scaled(const EfficientNetRow& row) {
  std::vector<Stage> stages(std::begin(kB0), std::end(kB0));
  for (size_t i = 0; i < stages.size(); ++i) {
    Stage& s = stages[i];
    const bool first = i == 0, last = i + 1 == stages.size();
    if (!(row.lite && first)) s.in = scale_channels(s.in, row.width);
    s.out = scale_channels(s.out, row.width);
    if (!(row.lite && (first || last)))
      s.repeats = static_cast<int64_t>(std::ceil(static_cast<double>(s.repeats) * row.depth));
  }
  return stages;
}

// Adds the layers of one model.
class Layers {
 public:
  Layers(NetworkBuilder& builder, const EfficientNetRow& row)
      : b_(builder),
        lite_(row.lite),
        activation_(row.lite ? ops::Activation::relu6 : ops::Activation::silu) {}

  // Convolution, batch norm and activation: "NAME.0" and "NAME.1".
  int conv_norm(const std::string& name, int x, ConvolutionOptions options) {
    x = convolution(name, x, options);
    return b_.norm(name + ".1", x, activation_);
  }

  // Inverted residual block: 1×1 expansion, depthwise convolution, squeeze-excite, 1×1 projection.
  // Adds the input if the shapes match. Every block has an index for masks, used or not.
  int block(const std::string& name, int input, const Stage& s, double drop) {
    const uint64_t mask_layer = b_.next_mask_layer();
    const int64_t wide = s.in * s.expand;
    int part = 0, x = input;
    const auto next = [&] { return name + ".block." + std::to_string(part++); };
    if (s.expand != 1) x = conv_norm(next(), x, {.out = wide});
    x = conv_norm(next(), x, {.out = wide, .kernel = s.kernel, .stride = s.stride, .groups = wide});
    if (!lite_) x = b_.squeeze_excite(next(), x, std::max<int64_t>(1, s.in / 4));
    const std::string project = next();
    x = convolution(project, x, {.out = s.out});
    Norm norm = b_.norm_state(project + ".1", s.out);
    if (s.stride != 1 || s.in != s.out) return b_.norm(project + ".1", x, norm);
    norm.drop = drop;
    norm.mask_layer = mask_layer;
    return b_.norm(project + ".1", x, norm, input);
  }

 private:
  int convolution(const std::string& name, int x, ConvolutionOptions options) {
    options.padding = lite_ ? Padding::same : Padding::symmetric;
    return b_.convolution(name + ".0", x, options);
  }

  NetworkBuilder& b_;
  bool lite_;
  ops::Activation activation_;
};

ModelInfo info_of(const EfficientNetRow& row, const ModelOptions& options) {
  ModelInfo info;
  info.name = row.name;
  info.train_size = row.train_size;
  info.eval_size = row.eval_size;
  info.eval_resize = row.eval_resize;
  info.bicubic = true;
  if (row.lite) info.normalization = kLiteNormalization;
  info.batch_norm_momentum = row.batch_norm_momentum;
  info.dropout = options.dropout.value_or(row.dropout);
  info.drop_path = options.drop_path.value_or(0.2);
  return info;
}

}  // namespace

Network efficientnet(const EfficientNetRow& row, const ModelOptions& options) {
  const ModelInfo info = info_of(row, options);
  const std::vector<Stage> stages = scaled(row);
  NetworkBuilder b(options.channels, row.eval_size, {row.batch_norm_eps, row.batch_norm_momentum});
  Layers layers(b, row);
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
  x = layers.conv_norm(head, x, {.out = row.lite ? kLiteHead : 4 * stages.back().out});
  b.begin_stage("classifier");
  b.begin_block();
  x = b.pooled_features(x, info.dropout);
  b.linear("classifier.1", x, options.classes, LinearInit::by_outputs);
  return b.finish(info);
}

const std::vector<EfficientNetRow>& efficientnets() {
  static const std::vector<EfficientNetRow> rows = {
      {"efficientnet_b0", false, 1.0, 1.0, 0.2, 1e-5, 0.10, 224, 224, 256},
      {"efficientnet_b1", false, 1.0, 1.1, 0.2, 1e-5, 0.10, 240, 240, 256},
      {"efficientnet_b2", false, 1.1, 1.2, 0.3, 1e-5, 0.10, 260, 288, 288},
      {"efficientnet_b3", false, 1.2, 1.4, 0.3, 1e-5, 0.10, 300, 300, 320},
      {"efficientnet_b4", false, 1.4, 1.8, 0.4, 1e-5, 0.10, 380, 380, 384},
      {"efficientnet_b5", false, 1.6, 2.2, 0.4, 1e-3, 0.01, 456, 456, 456},
      {"efficientnet_b6", false, 1.8, 2.6, 0.5, 1e-3, 0.01, 528, 528, 528},
      {"efficientnet_b7", false, 2.0, 3.1, 0.5, 1e-3, 0.01, 600, 600, 600},
      {"efficientnet_lite0", true, 1.0, 1.0, 0.2, 1e-3, 0.01, 224, 224, 256},
      {"efficientnet_lite1", true, 1.0, 1.1, 0.2, 1e-3, 0.01, 240, 240, 272},
      {"efficientnet_lite2", true, 1.1, 1.2, 0.3, 1e-3, 0.01, 260, 260, 292},
      {"efficientnet_lite3", true, 1.2, 1.4, 0.3, 1e-3, 0.01, 280, 280, 312},
      {"efficientnet_lite4", true, 1.4, 1.8, 0.3, 1e-3, 0.01, 300, 300, 332},
  };
  return rows;
}

}  // namespace shoal::models
