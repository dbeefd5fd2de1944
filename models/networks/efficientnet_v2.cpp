#include "models/networks/efficientnet_v2.h"

namespace shoal::models {
namespace {

constexpr int64_t kHeadChannels = 1280;
constexpr double kBatchNormEps = 1e-3;
constexpr bool kFused = true;
constexpr Normalization kHalves = {{0.5, 0.5, 0.5}, {0.5, 0.5, 0.5}};

}  // namespace

Network efficientnet_v2(const EfficientNetV2Row& row, const ModelOptions& options) {
  ModelInfo info;
  info.name = info.torchvision = row.name;
  info.train_size = row.train_size;
  info.eval_size = info.eval_resize = row.eval_size;
  info.bicubic = row.large;
  if (row.large) info.normalization = kHalves;
  info.dropout = options.dropout.value_or(row.dropout);
  info.drop_path = options.drop_path.value_or(0.2);
  return inverted_residuals({row.stages, kHeadChannels, false, kBatchNormEps}, info, options);
}

const std::vector<EfficientNetV2Row>& efficientnets_v2() {
  static const std::vector<EfficientNetV2Row> rows = {
      {"efficientnet_v2_s",
       {{1, 3, 1, 24, 24, 2, kFused},
        {4, 3, 2, 24, 48, 4, kFused},
        {4, 3, 2, 48, 64, 4, kFused},
        {4, 3, 2, 64, 128, 6},
        {6, 3, 1, 128, 160, 9},
        {6, 3, 2, 160, 256, 15}},
       0.2,
       300,
       384,
       false},
      {"efficientnet_v2_m",
       {{1, 3, 1, 24, 24, 3, kFused},
        {4, 3, 2, 24, 48, 5, kFused},
        {4, 3, 2, 48, 80, 5, kFused},
        {4, 3, 2, 80, 160, 7},
        {6, 3, 1, 160, 176, 14},
        {6, 3, 2, 176, 304, 18},
        {6, 3, 1, 304, 512, 5}},
       0.3,
       384,
       480,
       false},
      {"efficientnet_v2_l",
       {{1, 3, 1, 32, 32, 4, kFused},
        {4, 3, 2, 32, 64, 7, kFused},
        {4, 3, 2, 64, 96, 7, kFused},
        {4, 3, 2, 96, 192, 10},
        {6, 3, 1, 192, 224, 19},
        {6, 3, 2, 224, 384, 25},
        {6, 3, 1, 384, 640, 7}},
       0.4,
       384,
       480,
       true},
  };
  return rows;
}

}  // namespace shoal::models
