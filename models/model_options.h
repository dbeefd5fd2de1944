#pragma once
// Which network to build. Torch-free, so that settings can be parsed without LibTorch.

#include <cstdint>
#include <optional>
#include <string>

namespace shoal::models {

struct ModelOptions {
  // Changes the result.
  std::string name = "efficientnet_b0";
  int64_t classes = 1000;
  // Before the classifier, 0..1; unset: the model's own (B0 0.2, ResNet 0).
  std::optional<double> dropout;
  // Stochastic depth of the last block, 0..1; unset: the model's own (EfficientNet 0.2).
  std::optional<double> drop_path;
  uint64_t seed = 0;  // of the initial weights
};

// What a model is, for people and for defaults.
struct ModelInfo {
  std::string name;
  int64_t classes = 0;
  std::string classifier;  // name of the last layer's weight, classes×features: "fc.weight"
  int64_t parameters = 0;
  double multiply_adds = 0;  // of one image at eval_size, forward, convolutions and linear layers
  int64_t train_size = 0;    // pixels, side of the square input the recipe trains at
  int64_t eval_size = 0;     // pixels, side of the square input for evaluation
  int64_t eval_resize = 0;   // pixels, short side before the centre crop
  bool bicubic = false;      // interpolation of the reference recipe
  double batch_norm_momentum = 0.1;
  double dropout = 0, drop_path = 0;  // as built: the options', else the model's own
};

}  // namespace shoal::models
