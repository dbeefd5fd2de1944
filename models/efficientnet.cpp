#include "models/efficientnet.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "models/layers.h"
#include "models/network.h"

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

// Scales the channel count and rounds it to a multiple of 8, never below 90 % of the scaled value.
int64_t scale_channels(int64_t channels, double width) {
  const double scaled = static_cast<double>(channels) * width;
  const int64_t rounded = std::max<int64_t>(8, static_cast<int64_t>(scaled + 4) / 8 * 8);
  return static_cast<double>(rounded) < 0.9 * scaled ? rounded + 8 : rounded;
}

std::vector<Stage> scaled(const EfficientNetRow& row) {
  std::vector<Stage> stages(std::begin(kB0), std::end(kB0));
  for (Stage& s : stages) {
    s.in = scale_channels(s.in, row.width);
    s.out = scale_channels(s.out, row.width);
    s.repeats = static_cast<int64_t>(std::ceil(static_cast<double>(s.repeats) * row.depth));
  }
  return stages;
}

// Convolution, batch norm and activation. The sub-modules are "<name>.0" and "<name>.1".
class ConvNorm : Layer {
 public:
  ConvNorm(Builder& b, const std::string& name, const ConvOptions& conv, const EfficientNetRow& row,
           ops::Activation activation)
      : conv_(b, name + ".0", conv),
        norm_(b, name + ".1", conv.out, row.batch_norm_eps, row.batch_norm_momentum),
        activation_(activation) {}

  at::Tensor forward(const at::Tensor& x, bool training, const StepContext& context,
                     const at::Tensor& residual = {}) const {
    return norm_.forward(conv_.forward(x), residual, activation_, training, context);
  }

 private:
  Conv2d conv_;
  BatchNorm norm_;
  ops::Activation activation_;
};

// Inverted residual block: 1×1 expansion, depthwise convolution, squeeze-excite, 1×1 projection.
// Adds the input if the shapes match.
class InvertedResidual : Layer {
 public:
  InvertedResidual(Builder& b, const std::string& name, const Stage& s, double drop,
                   const EfficientNetRow& row)
      : residual_(s.stride == 1 && s.in == s.out), drop_path_(b, drop) {
    const int64_t wide = s.in * s.expand;
    int part = 0;
    const auto next = [&] { return name + ".block." + std::to_string(part++); };
    if (s.expand != 1) {
      expand_.emplace(b, next(), ConvOptions{.in = s.in, .out = wide}, row, ops::Activation::silu);
    }
    depthwise_.emplace(
        b, next(),
        ConvOptions{
            .in = wide, .out = wide, .kernel = s.kernel, .stride = s.stride, .groups = wide},
        row, ops::Activation::silu);
    squeeze_excite_.emplace(b, next(), wide, std::max<int64_t>(1, s.in / 4));
    project_.emplace(b, next(), ConvOptions{.in = wide, .out = s.out}, row, ops::Activation::none);
  }

  at::Tensor forward(const at::Tensor& x, bool training, const StepContext& context) const {
    at::Tensor y = expand_ ? expand_->forward(x, training, context) : x;
    y = squeeze_excite_->forward(depthwise_->forward(y, training, context));
    if (!residual_) return project_->forward(y, training, context);
    if (!drop_path_.active(training)) return project_->forward(y, training, context, x);
    return drop_path_.forward(x, project_->forward(y, training, context), context);
  }

 private:
  bool residual_;
  DropPath drop_path_;
  std::optional<ConvNorm> expand_, depthwise_, project_;
  std::optional<SqueezeExcite> squeeze_excite_;
};

class EfficientNet : public Network {
 public:
  EfficientNet(const EfficientNetRow& row, const ModelOptions& options, Builder& b) {
    const std::vector<Stage> stages = scaled(row);
    const double drop_path = options.drop_path.value_or(0.2);
    stem_.emplace(b, "features.0",
                  ConvOptions{.in = 3, .out = stages[0].in, .kernel = 3, .stride = 2}, row,
                  ops::Activation::silu);
    int64_t total = 0;
    for (const Stage& s : stages) total += s.repeats;
    for (size_t i = 0; i < stages.size(); ++i) {
      Stage s = stages[i];
      for (int64_t repeat = 0; repeat < s.repeats; ++repeat) {
        const std::string name = "features." + std::to_string(i + 1) + "." + std::to_string(repeat);
        const double drop =
            drop_path * static_cast<double>(blocks_.size()) / static_cast<double>(total);
        blocks_.push_back(std::make_unique<InvertedResidual>(b, name, s, drop, row));
        s.in = s.out;
        s.stride = 1;
      }
    }
    const int64_t out = stages.back().out;
    head_.emplace(b, "features." + std::to_string(stages.size() + 1),
                  ConvOptions{.in = out, .out = 4 * out}, row, ops::Activation::silu);
    const double dropout = options.dropout.value_or(row.dropout);
    pooled_.emplace(b, dropout);
    classifier_.emplace(b, "classifier.1", 4 * out, options.classes, LinearInit::by_outputs);
    ModelInfo info;
    info.name = row.name;
    info.train_size = row.train_size;
    info.eval_size = row.eval_size;
    info.eval_resize = row.eval_resize;
    info.bicubic = true;
    info.batch_norm_momentum = row.batch_norm_momentum;
    info.dropout = dropout;
    info.drop_path = drop_path;
    finish(b, options, info);
  }

  at::Tensor forward(const at::Tensor& images, const StepContext& context) override {
    at::Tensor x = stem_->forward(images, training_, context);
    for (const auto& block : blocks_) x = block->forward(x, training_, context);
    x = head_->forward(x, training_, context);
    return classifier_->forward(pooled_->forward(x, training_, context));
  }

 private:
  std::optional<ConvNorm> stem_, head_;
  std::vector<std::unique_ptr<InvertedResidual>> blocks_;
  std::optional<PooledFeatures> pooled_;
  std::optional<Linear> classifier_;
};

}  // namespace

const std::vector<EfficientNetRow>& efficientnets() {
  static const std::vector<EfficientNetRow> rows = {
      {"efficientnet_b0", 1.0, 1.0, 0.2, 1e-5, 0.10, 224, 224, 256},
      {"efficientnet_b1", 1.0, 1.1, 0.2, 1e-5, 0.10, 240, 240, 256},
      {"efficientnet_b2", 1.1, 1.2, 0.3, 1e-5, 0.10, 260, 288, 288},
      {"efficientnet_b3", 1.2, 1.4, 0.3, 1e-5, 0.10, 300, 300, 320},
      {"efficientnet_b4", 1.4, 1.8, 0.4, 1e-5, 0.10, 380, 380, 384},
      {"efficientnet_b5", 1.6, 2.2, 0.4, 1e-3, 0.01, 456, 456, 456},
      {"efficientnet_b6", 1.8, 2.6, 0.5, 1e-3, 0.01, 528, 528, 528},
      {"efficientnet_b7", 2.0, 3.1, 0.5, 1e-3, 0.01, 600, 600, 600},
  };
  return rows;
}

std::unique_ptr<Classifier> make_efficientnet(const EfficientNetRow& row,
                                              const ModelOptions& options, Builder& builder) {
  return std::make_unique<EfficientNet>(row, options, builder);
}

}  // namespace shoal::models
