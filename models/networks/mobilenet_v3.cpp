#include "models/networks/mobilenet_v3.h"

#include <string>

#include "models/networks/inverted_residuals.h"

namespace shoal::models {
namespace {

using ops::Activation;

constexpr int64_t kSide = 224, kResize = 256;  // ModelInfo's eval_size and eval_resize
constexpr int64_t kStem = 16;                  // channels
constexpr int64_t kHeadFactor = 6;             // head's channels / last block's channels
constexpr double kDropout = 0.2;

InvertedResidual block_of(const MobileNetV3Row::Block& s) {
  const int64_t quarter = s.wide / 4;
  return {.in = s.in,
          .wide = s.wide,
          .out = s.out,
          .kernel = s.kernel,
          .stride = s.stride,
          .activation = s.swish ? Activation::hard_swish : Activation::relu,
          .squeezed = s.squeezes ? multiple_of_8(static_cast<double>(quarter)) : 0,
          .hard = true};
}

}  // namespace

Network mobilenet_v3(const MobileNetV3Row& row, const ModelOptions& options) {
  ModelInfo info;
  info.name = info.torchvision = row.name;
  info.train_size = info.eval_size = kSide;
  info.eval_resize = kResize;
  info.batch_norm_momentum = 0.01;
  info.dropout = options.dropout.value_or(kDropout);
  info.drop_path = options.drop_path.value_or(0);
  NetworkBuilder b(options.channels, kSide, {.eps = 1e-3, .momentum = info.batch_norm_momentum});
  b.begin_stage("features.0");
  int x = b.conv_norm("features.0", kImages, {.out = kStem, .kernel = 3, .stride = 2},
                      Activation::hard_swish);
  int64_t done = 0;
  const auto total = static_cast<double>(row.blocks.size());
  for (const MobileNetV3Row::Block& block : row.blocks) {
    const double drop = info.drop_path * static_cast<double>(done++) / total;
    const std::string name = "features." + std::to_string(done);
    b.begin_stage(name);
    b.begin_block();
    x = inverted_residual(b, name, x, block_of(block), drop);
  }
  const std::string head = "features." + std::to_string(done + 1);
  b.begin_stage(head);
  b.begin_block();
  x = b.conv_norm(head, x, {.out = kHeadFactor * row.blocks.back().out}, Activation::hard_swish);
  b.begin_stage("classifier");
  b.begin_block();
  x = b.pooled_features(x, 0);
  x = b.linear("classifier.0", x, row.hidden, LinearInit::small,
               {.weight = 0,
                .activation = Activation::hard_swish,
                .dropout = info.dropout,
                .mask_layer = b.next_mask_layer()});
  b.linear("classifier.3", x, options.classes, LinearInit::small);
  return b.finish(info);
}

const std::vector<MobileNetV3Row>& mobilenets_v3() {
  static const std::vector<MobileNetV3Row> rows = {
      {"mobilenet_v3_large",
       {{16, 3, 16, 16, false, false, 1},
        {16, 3, 64, 24, false, false, 2},
        {24, 3, 72, 24, false, false, 1},
        {24, 5, 72, 40, true, false, 2},
        {40, 5, 120, 40, true, false, 1},
        {40, 5, 120, 40, true, false, 1},
        {40, 3, 240, 80, false, true, 2},
        {80, 3, 200, 80, false, true, 1},
        {80, 3, 184, 80, false, true, 1},
        {80, 3, 184, 80, false, true, 1},
        {80, 3, 480, 112, true, true, 1},
        {112, 3, 672, 112, true, true, 1},
        {112, 5, 672, 160, true, true, 2},
        {160, 5, 960, 160, true, true, 1},
        {160, 5, 960, 160, true, true, 1}},
       1280},
      {"mobilenet_v3_small",
       {{16, 3, 16, 16, true, false, 2},
        {16, 3, 72, 24, false, false, 2},
        {24, 3, 88, 24, false, false, 1},
        {24, 5, 96, 40, true, true, 2},
        {40, 5, 240, 40, true, true, 1},
        {40, 5, 240, 40, true, true, 1},
        {40, 5, 120, 48, true, true, 1},
        {48, 5, 144, 48, true, true, 1},
        {48, 5, 288, 96, true, true, 2},
        {96, 5, 576, 96, true, true, 1},
        {96, 5, 576, 96, true, true, 1}},
       1024},
  };
  return rows;
}

}  // namespace shoal::models
