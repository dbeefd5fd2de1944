#include "models/networks/mobilenet_v2.h"

#include <algorithm>
#include <cmath>
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

int64_t scaled(int64_t channels, double width) {
  return multiple_of_8(static_cast<double>(channels) * width);
}

// Whether the width also scales the stem and the head. In timm's deeper networks, it does not.
bool scales_ends(const MobileNetV2Row& row) {
  return row.depth == 1;
}

// Returns the stages, scaled by the row's factors. The depth does not change the first and the last
// stage, which have a single block.
std::vector<Stage> stages_of(const MobileNetV2Row& row) {
  std::vector<Stage> stages(std::begin(kStages), std::end(kStages));
  for (Stage& s : stages) {
    s.in = scaled(s.in, row.width);
    s.out = scaled(s.out, row.width);
    if (s.repeats > 1)
      s.repeats = static_cast<int64_t>(std::ceil(static_cast<double>(s.repeats) * row.depth));
  }
  if (!scales_ends(row)) stages.front().in = kStages[0].in;
  return stages;
}

// Adds a block: 1×1 expansion (unless s.expand is 1), depthwise convolution and 1×1 projection. If
// the shapes match, the block's input is added to its output. Differs from inverted_residual() in
// the names: the projection is not a pair "N.0", "N.1", but "N" and "N + 1".
int bottleneck(NetworkBuilder& b, const std::string& name, int input, const Stage& s, double drop) {
  const uint64_t mask_layer = b.next_mask_layer();
  const int64_t wide = s.in * s.expand;
  int part = 0, x = input;
  const auto next = [&] { return name + ".conv." + std::to_string(part++); };
  if (s.expand > 1) x = b.conv_norm(next(), x, {.out = wide}, Activation::relu6);
  x = b.conv_norm(next(), x, {.out = wide, .kernel = s.kernel, .stride = s.stride, .groups = wide},
                  Activation::relu6);
  x = b.convolution(next(), x, {.out = s.out});
  const std::string last = next();
  Norm norm = b.norm_state(last, s.out);
  if (s.stride != 1 || s.in != s.out) return b.norm(last, x, norm);
  norm.drop = drop;
  norm.mask_layer = mask_layer;
  return b.norm(last, x, norm, input);
}

}  // namespace

Network mobilenet_v2(const MobileNetV2Row& row, const ModelOptions& options) {
  constexpr int64_t kSide = 224, kResize = 256;  // pixels
  constexpr double kDropout = 0.2;
  const std::vector<Stage> stages = stages_of(row);
  ModelInfo info;
  info.name = row.name;
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
      x = bottleneck(b, name, x, s, drop);
      s.in = s.out;
      s.stride = 1;
    }
  }
  const std::string head = "features." + std::to_string(done + 1);
  b.begin_stage(head);
  b.begin_block();
  const int64_t channels = scales_ends(row) ? std::max(kHead, scaled(kHead, row.width)) : kHead;
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
