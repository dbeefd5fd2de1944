#pragma once
// The image classifiers shoal knows, and what the rest of the program may ask of one.
//
// A classifier maps images to logits. It knows no files, flags, ranks or optimizers. Names of
// modules, parameters and buffers are torchvision's, so checkpoints of either program load into the
// other.

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <vector>

#include "models/model_options.h"
#include "models/step_context.h"

namespace shoal::models {

// One parameter, by its dotted name, with the places where the owning layer keeps it. `copy` is
// where a layer that can compute in a lower precision looks for its bf16/f16 copy; nullptr for
// parameters that are always used as they are.
struct ParameterSlot {
  std::string name;    // "features.0.0.weight"
  at::Tensor* master;  // requires grad; replaced in place by set_data-like views, never rebound
  at::Tensor* copy;
};

// The state of one batch normalisation. Forward in training mode uses batch statistics and, instead
// of touching the running buffers, folds them into `pending`: pending = (1 - momentum) * pending +
// momentum * {mean, unbiased variance}. Whoever commits the step sets running = (1 - momentum)^k *
// running + pending for k folded batches, and zeroes pending.
struct BatchNormSlot {
  std::string name;                 // "features.0.1"
  at::Tensor* running_mean;         // C
  at::Tensor* running_var;          // C
  at::Tensor* num_batches_tracked;  // int64 scalar
  at::Tensor* pending;              // 2×C: mean, unbiased variance
};

class Classifier {
 public:
  virtual ~Classifier() = default;

  // images: N×3×H×W, channels-last, normalised, dtype of the parameters or of their copies. Returns
  // N×classes. Training mode draws masks and folds statistics; evaluation mode uses running
  // statistics and needs no context.
  virtual at::Tensor forward(const at::Tensor& images, const StepContext& context) = 0;

  virtual void train(bool on) = 0;
  // In layer order, which is the order of torchvision's parameters().
  virtual std::vector<ParameterSlot> parameters() = 0;
  virtual std::vector<BatchNormSlot> batch_norms() = 0;  // layer order
  virtual const ModelInfo& info() const = 0;
};

// Builds the named model on the CPU in float32 with torchvision's initialisation drawn from
// `options.seed`. Throws std::invalid_argument naming the nearest known name.
std::unique_ptr<Classifier> create(const ModelOptions& options);

const std::vector<std::string>& names();  // sorted as the table has them
// What create() would make, without making it. Multiply-adds are those at the model's eval_size.
// Throws std::invalid_argument like create().
ModelInfo describe(const ModelOptions& options);

}  // namespace shoal::models
