#pragma once
// Connects the fused step (program/program.h) with autograd: one function from the weights to the
// logits. Backward returns the gradients of all trained weights, so that autograd adds them to the
// existing ones and gradient reducers see them as usual. Not thread-safe.

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "models/program/program.h"
#include "models/step_context.h"

namespace shoal::models {

class FusedStep {
 public:
  // `network` must outlive this object.
  explicit FusedStep(const Network& network) : network_(network) {}

  // Computes the logits of a training step and updates the pending statistics. All tensors are
  // float32 on the CPU. Before another call, at most one backward through the result is possible;
  // it throws std::logic_error if another forward has replaced the activations.
  at::Tensor forward(const at::Tensor& images, const std::vector<at::Tensor>& weights,
                     std::vector<ProgramStatistics> statistics, const StepContext& context);

 private:
  struct Function;

  // Plans the step again if its shape has changed.
  void prepare(const at::Tensor& images, const std::vector<at::Tensor>& weights);
  void draw_masks(const at::Tensor& images, const StepContext& context, ProgramInputs& inputs);

  const Network& network_;
  std::unique_ptr<Program> program_;
  at::Tensor memory_;              // of the program
  std::vector<at::Tensor> masks_;  // of the current step
  uint64_t forwards_ = 0;
};

}  // namespace shoal::models
