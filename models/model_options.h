#pragma once
// Options that select the network to build. Does not use LibTorch, because `shoal` parses settings
// without it.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/normalization.h"

namespace shoal::models {

// What computes training steps and evaluations. reference: the executor (executor.h), one operation
// after another. fused: the CPU kernels of program/program.h; results differ in rounding.
// automatic: fused if there are kernels for the network, otherwise reference.
enum class Kernels { automatic, reference, fused };

struct ModelOptions {
  // Every field changes the trained model, even `kernels`, because results differ in rounding.
  std::string name = "efficientnet_b0";
  int64_t classes = 1000;
  int64_t channels = 3;  // of the images
  // Dropout rate before the classifier, 0..1. Unset: the model's default (EfficientNet-B0: 0.2,
  // ResNet: 0).
  std::optional<double> dropout;
  // Stochastic depth, 0..1: block i of n, counted from 0, is dropped with the probability
  // drop_path * i / n. Unset: the model's default (EfficientNet 0.2).
  std::optional<double> drop_path;
  uint64_t seed = 0;  // seed of the initial weights
  Kernels kernels = Kernels::automatic;
};

// Properties of a model, for reports and for default settings.
struct ModelInfo {
  std::string name;
  int64_t classes = 0;
  int64_t channels = 3;    // of the images
  std::string classifier;  // name of the last layer's weight (classes×features): "fc.weight", …
  int64_t parameters = 0;
  // Of the forward pass of one image at eval_size, or at the side passed to set_image_size().
  double multiply_adds = 0;
  int64_t train_size = 0;       // pixels, side of the square input for training (original recipe)
  int64_t eval_size = 0;        // pixels, side of the square input for evaluation
  int64_t eval_resize = 0;      // pixels, short side before the center crop
  bool bicubic = false;         // interpolation of the original recipe; false: bilinear
  Normalization normalization;  // of RGB images in the original recipe
  // Function of torchvision.models that builds this network with the same names and results. Empty:
  // torchvision does not have the network. `torchvision_width`: its argument width_mult, if not 1.
  std::string torchvision;
  double torchvision_width = 1;
  double batch_norm_momentum = 0.1;
  double dropout = 0, drop_path = 0;  // the rates used: from ModelOptions or the model's defaults
  // Names of the groups of layers that can be frozen, from input to output: the stem, the stages
  // and, last, the classifier.
  std::vector<std::string> stages;
};

}  // namespace shoal::models
