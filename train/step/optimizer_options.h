#pragma once
// Settings of the optimizers and of the moving average of the weights. Torch-free, so that settings
// can be parsed without LibTorch. All of these change the result.

#include <optional>
#include <string>
#include <string_view>

namespace shoal::train {

struct OptimizerOptions {
  enum class Kind {
    sgd,      // PyTorch's SGD with momentum
    rmsprop,  // TensorFlow's RMSprop (timm's RMSpropTF), the one EfficientNet was published with
    adamw,    // PyTorch's AdamW
  };
  Kind kind = Kind::sgd;
  double momentum = 0.9;  // sgd, rmsprop: 0..1
  bool nesterov = false;  // sgd: look ahead; a little better with large momentum
  // Pull towards zero, per step: added to the gradient (sgd, rmsprop) or times the learning rate
  // (adamw). Never applied to biases and batch-norm parameters. ResNet 1e-4, EfficientNet 1e-5,
  // adamw 0.01 to 0.05.
  double weight_decay = 1e-4;
  double alpha = 0.9;    // rmsprop: how slowly the mean square forgets, 0..1
  double beta1 = 0.9;    // adamw: how slowly the mean gradient forgets, 0..1
  double beta2 = 0.999;  // adamw: how slowly the mean square forgets, 0..1
  // Keeps the division finite. Unset: 1e-3 for rmsprop (inside the root, as TensorFlow), 1e-8 for
  // adamw.
  std::optional<double> eps;
  // Largest allowed L2 norm of all gradients together; larger ones are scaled down. 0: off. Try 1
  // to 10 when loss jumps.
  double clip = 0;
};

struct EmaOptions {
  // Share of the old average that stays at each step, 0..1; 0: no average is kept. 0.9999 for runs
  // of 100 epochs and more, lower for short ones: 1 / (1 - decay) is the number of steps it looks
  // back over.
  double decay = 0;
  // Start with min(decay, (1 + step) / (10 + step)), so that short runs are not dominated by the
  // initial weights.
  bool warmup = false;
};

// The value of eps that `options` mean.
double resolved_eps(const OptimizerOptions& options);

}  // namespace shoal::train
