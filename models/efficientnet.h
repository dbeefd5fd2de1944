#pragma once
// EfficientNet B0 to B7 (Tan and Le, 2019, arXiv:1905.11946), identical to torchvision's.

#include <memory>
#include <string>
#include <vector>

#include "models/builder.h"
#include "models/model.h"

namespace shoal::models {

struct EfficientNetRow {
  const char* name;
  double width, depth;  // compound scaling: factors of the channel and block counts
  double dropout;       // dropout rate before the classifier
  double batch_norm_eps, batch_norm_momentum;
  int64_t train_size, eval_size, eval_resize;  // pixels; see ModelInfo
};

const std::vector<EfficientNetRow>& efficientnets();

std::unique_ptr<Classifier> make_efficientnet(const EfficientNetRow& row,
                                              const ModelOptions& options, Builder& builder);

}  // namespace shoal::models
