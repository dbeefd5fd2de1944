#pragma once
// The interface of shoal's image classifiers.
//
// A classifier maps images to logits. It does not depend on files, options, ranks or optimizers.
// Modules, parameters and buffers have torchvision's names, so state dicts are interchangeable with
// torchvision's.

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <vector>

#include "models/network.h"
#include "models/step_context.h"

namespace shoal::models {

// One parameter. The pointers point to the classifier's own tensors. `copy` points to the tensor
// for a bf16 copy. If that tensor is defined, the layer uses it instead of `master`. `copy` is
// nullptr if the layer always uses `master`.
struct ParameterSlot {
  std::string name;    // such as "features.0.0.weight"
  at::Tensor* master;  // requires grad; do not assign to it, but set_data() may change its memory
  at::Tensor* copy;
  Traits traits = {};
};

// The state of one batch norm layer; the pointers point to the classifier's own members. While
// *fixed is true, training uses the running statistics as constants and leaves `pending` unchanged.
// Otherwise, training uses batch statistics. Each forward pass then updates `pending`, but not the
// running statistics:
//
//     pending = (1 - momentum) * pending + momentum * {mean, unbiased variance}
//
// After k such passes, the caller commits the step: it sets running = (1 - momentum)^k * running +
// pending and zeroes `pending`.
struct BatchNormSlot {
  std::string name;                 // such as "features.0.1"
  at::Tensor* running_mean;         // C
  at::Tensor* running_var;          // C
  at::Tensor* num_batches_tracked;  // int64 scalar
  at::Tensor* pending;              // 2×C: mean, unbiased variance
  bool* fixed;
  int stage = 0;  // index into ModelInfo::stages
};

class Classifier {
 public:
  virtual ~Classifier() = default;

  // `images`: N×C×H×W with C = ModelOptions::channels, channels-last, normalized, in the dtype of
  // the parameters or of their copies. Returns N×classes logits. In training mode, draws masks and
  // updates the pending batch norm statistics. In evaluation mode, uses the running statistics and
  // ignores the context.
  virtual at::Tensor forward(const at::Tensor& images, const StepContext& context) = 0;

  virtual void train(bool on) = 0;  // true: training mode, the default; false: evaluation mode
  // In layer order, which is the order of torchvision's parameters().
  virtual std::vector<ParameterSlot> parameters() = 0;
  virtual std::vector<BatchNormSlot> batch_norms() = 0;  // in layer order
  virtual const ModelInfo& info() const = 0;
};

// Builds the model on the CPU in float32. The initial weights have torchvision's distributions and
// are drawn from `options.seed`. Throws std::invalid_argument like make_network() (catalogue.h),
// and if `options.kernels` is fused but the fused step cannot compute the network.
std::unique_ptr<Classifier> create(const ModelOptions& options);

}  // namespace shoal::models
