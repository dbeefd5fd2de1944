#pragma once
// Options of the optimizers and of the moving average of the weights. Torch-free, so that settings
// can be parsed without LibTorch. All of them change the result.

#include <optional>
#include <string>
#include <string_view>

namespace shoal::train {

struct OptimizerOptions {
  enum class Kind {
    sgd,      // PyTorch's SGD with momentum
    rmsprop,  // TensorFlow's RMSprop (timm's RMSpropTF), used by the EfficientNet paper
    adamw,    // PyTorch's AdamW
  };
  Kind kind = Kind::sgd;
  double momentum = 0.9;  // sgd, rmsprop: 0..1
  bool nesterov = false;  // sgd: Nesterov momentum; slightly better with large momentum
  // L2 weight decay per step: added to the gradient (sgd, rmsprop) or multiplied by the learning
  // rate (adamw). Not applied to biases and batch norm parameters. ResNet 1e-4, EfficientNet 1e-5,
  // adamw 0.01 to 0.05.
  double weight_decay = 1e-4;
  double alpha = 0.9;    // rmsprop: decay rate of the mean square, 0..1
  double beta1 = 0.9;    // adamw: decay rate of the first moment, 0..1
  double beta2 = 0.999;  // adamw: decay rate of the second moment, 0..1
  // Avoids division by zero. Unset: 1e-3 for rmsprop (inside the root, as in TensorFlow), 1e-8 for
  // adamw.
  std::optional<double> eps;
  // Maximum L2 norm of all gradients together; larger gradients are scaled down. 0: off. Try 1 to
  // 10 if the loss jumps.
  double clip = 0;
};

struct EmaOptions {
  // Weight of the old average at each step, 0..1; 0: no average. 0.9999 for runs of at least 100
  // epochs, lower for short runs: the average spans about 1 / (1 - decay) steps.
  double decay = 0;
  // Uses min(decay, (1 + step) / (10 + step)), so that the initial weights do not dominate short
  // runs.
  bool warmup = false;
};

// Returns options.eps or its default.
double resolved_eps(const OptimizerOptions& options);

}  // namespace shoal::train
