#pragma once
// The image classifiers of shoal and their interface.
//
// A classifier maps images to logits. It does not depend on files, options, ranks or optimizers.
// Modules, parameters and buffers have torchvision's names, so checkpoints of both programs are
// interchangeable.

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <vector>

#include "models/model_options.h"
#include "models/step_context.h"

namespace shoal::models {

// One parameter with its dotted name and pointers to the tensors that its layer reads. `copy`
// points to the bf16/f16 copy of a layer that can compute in lower precision; it is nullptr for
// parameters that are always used as they are.
struct ParameterSlot {
  std::string name;    // "features.0.0.weight"
  at::Tensor* master;  // requires grad; replaced in place by set_data-like views, never rebound
  at::Tensor* copy;
};

// The state of one batch norm layer. Forward in training mode uses batch statistics. It leaves the
// running buffers alone and folds the batch statistics into `pending`: pending = (1 - momentum) *
// pending + momentum * {mean, unbiased variance}. The caller that commits a step sets running = (1
// - momentum)^k * running + pending for k folded batches, then zeroes `pending`.
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

  // `images`: N×3×H×W, channels-last, normalized, in the dtype of the parameters or of their
  // copies. Returns N×classes logits. Training mode draws masks and folds batch statistics.
  // Evaluation mode uses the running statistics and ignores the context.
  virtual at::Tensor forward(const at::Tensor& images, const StepContext& context) = 0;

  virtual void train(bool on) = 0;
  // In layer order, the same as torchvision's parameters().
  virtual std::vector<ParameterSlot> parameters() = 0;
  virtual std::vector<BatchNormSlot> batch_norms() = 0;  // layer order
  virtual const ModelInfo& info() const = 0;
};

// Builds the model on the CPU in float32, with torchvision's initialization drawn from
// `options.seed`. Throws std::invalid_argument for bad options; for an unknown name, suggests the
// nearest one.
std::unique_ptr<Classifier> create(const ModelOptions& options);

const std::vector<std::string>& names();  // in the order of the table
// Describes the model that create() would build, without allocating it. Multiply-adds are for the
// model's eval_size. Throws std::invalid_argument like create().
ModelInfo describe(const ModelOptions& options);

}  // namespace shoal::models
