#include "models/networks/mobilenet_v2.h"

#include <algorithm>
#include <string>

#include "models/networks/inverted_residuals.h"

namespace shoal::models {
namespace {

using ops::Activation;

constexpr int64_t kHead = 1280;  // least number of channels before the classifier
constexpr Stage kStages[] = {
    {1, 3, 1, 32, 16, 1}, {6, 3, 2, 16, 24, 2},  {6, 3, 2, 24, 32, 3},   {6, 3, 2, 32, 64, 4},
    {6, 3, 1, 64, 96, 3}, {6, 3, 2, 96, 160, 3}, {6, 3, 1, 160, 320, 1},
};

// Whether the width also scales the stem and the head. Not in timm's deeper networks (depth > 1).
bool scales_ends(const MobileNetV2Row& row) {
  return row.depth == 1;
}

}  // namespace

Network mobilenet_v2(const MobileNetV2Row& row, const ModelOptions& options) {
  constexpr int64_t kSide = 224, kResize = 256;  // pixels
  constexpr double kDropout = 0.2;
  const std::vector<Stage> stages =
      scaled(kStages, row.width, row.depth, scales_ends(row), /*ends=*/false);
  ModelInfo info;
  info.name = row.name;
  if (scales_ends(row)) {
    info.torchvision = "mobilenet_v2";
    info.torchvision_width = row.width;
  }
  info.train_size = info.eval_size = kSide;
  info.eval_resize = kResize;
  info.dropout = options.dropout.value_or(kDropout);
  info.drop_path = options.drop_path.value_or(0);
  NetworkBuilder b(options.channels, kSide, {.eps = 1e-5, .momentum = info.batch_norm_momentum});
  b.begin_stage("features.0");
  int x = b.conv_norm("features.0", kImages, {.out = stages.front().in, .kernel = 3, .stride = 2},
                      Activation::relu6);
  int64_t total = 0, done = 0;
  for (const Stage& s : stages) total += s.repeats;
  for (Stage s : stages) {
    for (int64_t repeat = 0; repeat < s.repeats; ++repeat) {
      const double drop = info.drop_path * static_cast<double>(done++) / static_cast<double>(total);
      const std::string name = "features." + std::to_string(done);
      b.begin_stage(name);
      b.begin_block();
      x = inverted_residual(b, name, x,
                            {.in = s.in,
                             .wide = s.in * s.expand,
                             .out = s.out,
                             .kernel = s.kernel,
                             .stride = s.stride,
                             .activation = Activation::relu6,
                             .flat = true},
                            drop);
      s.in = s.out;
      s.stride = 1;
    }
  }
  const std::string head = "features." + std::to_string(done + 1);
  b.begin_stage(head);
  b.begin_block();
  const int64_t scaled_head = multiple_of_8(static_cast<double>(kHead) * row.width);
  const int64_t channels = scales_ends(row) ? std::max(kHead, scaled_head) : kHead;
  x = b.conv_norm(head, x, {.out = channels}, Activation::relu6);
  b.begin_stage("classifier");
  b.begin_block();
  x = b.pooled_features(x, info.dropout);
  b.linear("classifier.1", x, options.classes, LinearInit::small);
  return b.finish(info);
}

const std::vector<MobileNetV2Row>& mobilenets_v2() {
  static const std::vector<MobileNetV2Row> rows = {
      {"mobilenet_v2", 1.0, 1.0},      {"mobilenet_v2_050", 0.5, 1.0},
      {"mobilenet_v2_110d", 1.1, 1.2}, {"mobilenet_v2_120d", 1.2, 1.4},
      {"mobilenet_v2_140", 1.4, 1.0},
  };
  return rows;
}

}  // namespace shoal::models
