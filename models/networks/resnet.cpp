#include "models/networks/resnet.h"

#include <string>

#include "models/network_builder.h"

namespace shoal::models {
namespace {

constexpr int64_t kSize = 224, kEvalResize = 256;  // ModelInfo's eval_size and eval_resize

// Adds a residual block: two 3×3 convolutions, or a bottleneck of 1×1, 3×3 and 1×1 convolutions
// with 4 * width output channels. The last batch norm adds the shortcut and applies the ReLU.
int block(NetworkBuilder& b, const std::string& name, int input, bool bottleneck, int64_t width,
          int64_t stride, double drop) {
  const uint64_t mask_layer = b.next_mask_layer();
  const int64_t in = b.shape(input).channels, out = bottleneck ? 4 * width : width;
  std::vector<ConvolutionOptions> convolutions = {{.out = width, .kernel = 3, .stride = stride},
                                                  {.out = width, .kernel = 3}};
  if (bottleneck) {
    convolutions = {{.out = width}, {.out = width, .kernel = 3, .stride = stride}, {.out = out}};
  }
  int x = input, number = 1;
  for (; number < static_cast<int>(convolutions.size()); ++number) {
    const std::string part = std::to_string(number);
    x = b.convolution(name + ".conv" + part, x, convolutions[static_cast<size_t>(number - 1)]);
    x = b.norm(name + ".bn" + part, x, ops::Activation::relu);
  }
  const std::string last = std::to_string(number);
  x = b.convolution(name + ".conv" + last, x, convolutions.back());
  Norm norm = b.norm_state(name + ".bn" + last, out);
  norm.activation = ops::Activation::relu;
  norm.drop = drop;
  norm.mask_layer = mask_layer;
  int shortcut = input;
  if (stride != 1 || in != out) {
    shortcut = b.convolution(name + ".downsample.0", input, {.out = out, .stride = stride});
    shortcut = b.norm(name + ".downsample.1", shortcut, ops::Activation::none);
  }
  return b.norm(name + ".bn" + last, x, norm, shortcut);
}

}  // namespace

Network resnet(const ResNetRow& row, const ModelOptions& options) {
  ModelInfo info;
  info.name = info.torchvision = row.name;
  info.train_size = info.eval_size = kSize;
  info.eval_resize = kEvalResize;
  info.dropout = options.dropout.value_or(0);
  info.drop_path = options.drop_path.value_or(0);
  NetworkBuilder b(options.channels, kSize, {.eps = 1e-5, .momentum = info.batch_norm_momentum});
  b.begin_stage("conv1");
  int x = b.convolution("conv1", kImages, {.out = 64, .kernel = 7, .stride = 2});
  x = b.norm("bn1", x, ops::Activation::relu);
  x = b.max_pool(x, {.kernel = 3, .stride = 2, .padding = 1});
  int64_t total = 0, done = 0;
  for (int64_t repeats : row.repeats) total += repeats;
  for (int64_t stage = 0; stage < 4; ++stage) {
    const std::string name = "layer" + std::to_string(stage + 1);
    b.begin_stage(name);
    for (int64_t repeat = 0; repeat < row.repeats[stage]; ++repeat, ++done) {
      b.begin_block();
      const double drop = info.drop_path * static_cast<double>(done) / static_cast<double>(total);
      x = block(b, name + "." + std::to_string(repeat), x, row.bottleneck, 64 << stage,
                repeat == 0 && stage > 0 ? 2 : 1, drop);
    }
  }
  b.begin_stage("fc");
  b.begin_block();
  x = b.pooled_features(x, info.dropout);
  b.linear("fc", x, options.classes, LinearInit::by_inputs);
  return b.finish(info);
}

const std::vector<ResNetRow>& resnets() {
  static const std::vector<ResNetRow> rows = {
      {"resnet18", false, {2, 2, 2, 2}},  {"resnet34", false, {3, 4, 6, 3}},
      {"resnet50", true, {3, 4, 6, 3}},   {"resnet101", true, {3, 4, 23, 3}},
      {"resnet152", true, {3, 8, 36, 3}},
  };
  return rows;
}

}  // namespace shoal::models
