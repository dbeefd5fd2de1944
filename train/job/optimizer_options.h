#pragma once
// Options of the optimizers and of the moving average of the weights. Does not use LibTorch, so
// that settings can be parsed without it.

#include <optional>
#include <string>
#include <string_view>

#include "ops/optimizers.h"

namespace shoal::train {

struct OptimizerOptions {
  using Kind = ops::OptimizerKind;  // ops/optimizer_rules.h has the rule of each
  Kind kind = Kind::sgd;
  double momentum = 0.9;  // sgd, rmsprop: 0..1
  bool nesterov = false;  // sgd: Nesterov momentum; slightly better with large momentum
  // Weight decay: added to the gradient as an L2 term (sgd, rmsprop, adam), or decoupled and
  // multiplied by the learning rate (adamw, lamb). Not applied to biases and batch norm parameters.
  // Usual values: 1e-4 for ResNet, 1e-5 for EfficientNet, 0.01 to 0.05 for adamw and lamb. lamb
  // scales each tensor's step by a trust ratio only if weight_decay is above 0.
  double weight_decay = 1e-4;
  double alpha = 0.9;    // rmsprop: decay rate of the mean square, 0..1
  double beta1 = 0.9;    // adamw, adam, lamb: decay rate of the first moment, 0..1
  double beta2 = 0.999;  // adamw, adam, lamb: decay rate of the second moment, 0..1
  // Added to the denominator to avoid division by zero; rmsprop adds it inside the root, as in
  // TensorFlow. Unset: OptimizerInfo::eps.
  std::optional<double> eps;
  // Maximum L2 norm of all gradients together. Larger gradients are scaled down. 0: off. Try 1 to
  // 10 if the loss spikes.
  double clip = 0;
};

struct EmaOptions {
  // Weight of the old average at each step, 0..1; 0: no average. The average spans about 1 / (1 -
  // decay) steps: use 0.9999 for runs of at least 100 epochs, and a smaller value for shorter runs.
  double decay = 0;
  // Uses the decay min(decay, (1 + step) / (10 + step)), so that the initial weights do not
  // dominate the average of a short run.
  bool warmup = false;
};

// Returns options.eps if set, otherwise the optimizer's default.
double resolved_eps(const OptimizerOptions& options);
// Returns the number of state buffers, each as large as the parameters.
int state_buffers(const OptimizerOptions& options);

}  // namespace shoal::train
