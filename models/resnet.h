#pragma once
// ResNet 18 to 152 (He et al., 2015, arXiv:1512.03385) with the stride on the 3×3 convolution
// ("v1.5"), identical to torchvision's.

#include <memory>
#include <vector>

#include "models/builder.h"
#include "models/model.h"

namespace shoal::models {

struct ResNetRow {
  const char* name;
  bool bottleneck;     // 1×1, 3×3, 1×1 blocks with 4 times the channels; otherwise two 3×3
  int64_t repeats[4];  // blocks per stage
};

constexpr int64_t kResNetSize = 224;  // pixels, for training and evaluation

const std::vector<ResNetRow>& resnets();

std::unique_ptr<Classifier> make_resnet(const ResNetRow& row, const ModelOptions& options,
                                        Builder& builder);

}  // namespace shoal::models
