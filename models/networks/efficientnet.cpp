#include "models/networks/efficientnet.h"

#include "models/network_builder.h"
#include "models/networks/inverted_residuals.h"

namespace shoal::models {
namespace {

constexpr Stage kB0[] = {
    {1, 3, 1, 32, 16, 1},  {6, 3, 2, 16, 24, 2},   {6, 5, 2, 24, 40, 2},   {6, 3, 2, 40, 80, 3},
    {6, 5, 1, 80, 112, 3}, {6, 5, 2, 112, 192, 4}, {6, 3, 1, 192, 320, 1},
};
constexpr int64_t kLiteHead = 1280;  // channels
constexpr double kLiteMean = 127.0 / 255, kLiteStd = 128.0 / 255;
constexpr Normalization kLiteNormalization = {{kLiteMean, kLiteMean, kLiteMean},
                                              {kLiteStd, kLiteStd, kLiteStd}};

ModelInfo info_of(const EfficientNetRow& row, const ModelOptions& options) {
  ModelInfo info;
  info.name = row.name;
  if (!row.lite) info.torchvision = row.name;
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
  // The Lite models scale neither the stem nor the numbers of blocks in the first and last stage.
  const std::vector<Stage> stages = scaled(kB0, row.width, row.depth, !row.lite, !row.lite);
  const int64_t head = row.lite ? kLiteHead : 4 * stages.back().out;
  return inverted_residuals({stages, head, row.lite, row.batch_norm_eps}, info_of(row, options),
                            options);
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
