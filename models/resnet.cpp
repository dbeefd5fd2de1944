#include "models/resnet.h"

#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/relu.h>

#include <optional>

#include "models/layers.h"
#include "models/network.h"

namespace shoal::models {
namespace {

constexpr double kEps = 1e-5, kMomentum = 0.1;
constexpr int64_t kEvalResize = 256;

// A residual block: two 3×3 convolutions, or a bottleneck of 1×1, 3×3 and 1×1 convolutions whose
// output has 4 times as many channels.
class ResidualBlock : Layer {
 public:
  ResidualBlock(Builder& b, const std::string& name, bool bottleneck, int64_t in, int64_t width,
                int64_t stride, double drop)
      : drop_path_(b, drop) {
    const int64_t out = bottleneck ? 4 * width : width;
    const int64_t side = b.side;
    if (bottleneck) {
      add(b, name, {.in = in, .out = width});
      add(b, name, {.in = width, .out = width, .kernel = 3, .stride = stride});
      add(b, name, {.in = width, .out = out});
    } else {
      add(b, name, {.in = in, .out = width, .kernel = 3, .stride = stride});
      add(b, name, {.in = width, .out = width, .kernel = 3});
    }
    if (stride != 1 || in != out) {
      b.side = side;
      shortcut_conv_.emplace(b, name + ".downsample.0",
                             ConvOptions{.in = in, .out = out, .stride = stride});
      shortcut_norm_.emplace(b, name + ".downsample.1", out, kEps, kMomentum);
    }
  }

  at::Tensor forward(const at::Tensor& x, bool training, const StepContext& context) const {
    at::Tensor y = x;
    for (size_t i = 0; i + 1 < convs_.size(); ++i) {
      y = norms_[i]->forward(convs_[i]->forward(y), {}, ops::Activation::relu, training, context);
    }
    y = convs_.back()->forward(y);
    at::Tensor shortcut = x;
    if (shortcut_conv_) {
      shortcut = shortcut_norm_->forward(shortcut_conv_->forward(x), {}, ops::Activation::none,
                                         training, context);
    }
    // The last batch norm also adds the shortcut and applies the ReLU, unless drop path acts in
    // between.
    const BatchNorm& last = *norms_.back();
    if (!drop_path_.active(training))
      return last.forward(y, shortcut, ops::Activation::relu, training, context);
    y = last.forward(y, {}, ops::Activation::none, training, context);
    return at::relu(drop_path_.forward(shortcut, y, context));
  }

 private:
  void add(Builder& b, const std::string& name, const ConvOptions& conv) {
    const std::string number = std::to_string(convs_.size() + 1);
    convs_.push_back(std::make_unique<Conv2d>(b, name + ".conv" + number, conv));
    norms_.push_back(
        std::make_unique<BatchNorm>(b, name + ".bn" + number, conv.out, kEps, kMomentum));
  }

  DropPath drop_path_;
  std::vector<std::unique_ptr<Conv2d>> convs_;
  std::vector<std::unique_ptr<BatchNorm>> norms_;
  std::optional<Conv2d> shortcut_conv_;
  std::optional<BatchNorm> shortcut_norm_;
};

class ResNet : public Network {
 public:
  ResNet(const ResNetRow& row, const ModelOptions& options, Builder& b) {
    stem_conv_.emplace(b, "conv1", ConvOptions{.in = 3, .out = 64, .kernel = 7, .stride = 2});
    stem_norm_.emplace(b, "bn1", 64, kEps, kMomentum);
    b.side = (b.side - 1) / 2 + 1;
    const double drop_path = options.drop_path.value_or(0), dropout = options.dropout.value_or(0);
    int64_t total = 0;
    for (int64_t repeats : row.repeats) total += repeats;
    int64_t in = 64;
    for (int64_t stage = 0; stage < 4; ++stage) {
      const int64_t width = 64 << stage;
      for (int64_t repeat = 0; repeat < row.repeats[stage]; ++repeat) {
        const std::string name = "layer" + std::to_string(stage + 1) + "." + std::to_string(repeat);
        const int64_t stride = repeat == 0 && stage > 0 ? 2 : 1;
        const double drop =
            drop_path * static_cast<double>(blocks_.size()) / static_cast<double>(total);
        blocks_.push_back(
            std::make_unique<ResidualBlock>(b, name, row.bottleneck, in, width, stride, drop));
        in = row.bottleneck ? 4 * width : width;
      }
    }
    pooled_.emplace(b, dropout);
    classifier_.emplace(b, "fc", in, options.classes, LinearInit::by_inputs);
    ModelInfo info;
    info.name = row.name;
    info.train_size = kResNetSize;
    info.eval_size = kResNetSize;
    info.eval_resize = kEvalResize;
    info.batch_norm_momentum = kMomentum;
    info.dropout = dropout;
    info.drop_path = drop_path;
    finish(b, options, info);
  }

  at::Tensor forward(const at::Tensor& images, const StepContext& context) override {
    at::Tensor x = stem_norm_->forward(stem_conv_->forward(images), {}, ops::Activation::relu,
                                       training_, context);
    x = at::max_pool2d(x, {3, 3}, {2, 2}, {1, 1});
    for (const auto& block : blocks_) x = block->forward(x, training_, context);
    return classifier_->forward(pooled_->forward(x, training_, context));
  }

 private:
  std::optional<Conv2d> stem_conv_;
  std::optional<BatchNorm> stem_norm_;
  std::vector<std::unique_ptr<ResidualBlock>> blocks_;
  std::optional<PooledFeatures> pooled_;
  std::optional<Linear> classifier_;
};

}  // namespace

const std::vector<ResNetRow>& resnets() {
  static const std::vector<ResNetRow> rows = {
      {"resnet18", false, {2, 2, 2, 2}},  {"resnet34", false, {3, 4, 6, 3}},
      {"resnet50", true, {3, 4, 6, 3}},   {"resnet101", true, {3, 4, 23, 3}},
      {"resnet152", true, {3, 8, 36, 3}},
  };
  return rows;
}

std::unique_ptr<Classifier> make_resnet(const ResNetRow& row, const ModelOptions& options,
                                        Builder& builder) {
  return std::make_unique<ResNet>(row, options, builder);
}

}  // namespace shoal::models
