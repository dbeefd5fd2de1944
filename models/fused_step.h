#pragma once
// Connects the fused step (program/program.h) with LibTorch. In training, the step is one autograd
// function from the weights to the logits. Its backward returns the gradients of all trained
// weights. So autograd accumulates them, and gradient reducers receive them as usual. Not
// thread-safe.

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

  // Computes the logits of a training step and updates the pending batch norm statistics
  // (BatchNormSlot in models/model.h). All tensors are on the CPU, the weights and logits in
  // float32. The images are float32 or bfloat16, and so are the activations. Run backward through
  // the result at most once, and before the next forward() or evaluate(), which overwrites the
  // activations: backward throws std::logic_error after that.
  at::Tensor forward(const at::Tensor& images, const std::vector<at::Tensor>& weights,
                     std::vector<ProgramStatistics> statistics, const StepContext& context);
  // Computes the logits with the running statistics and without dropout. The logits of an image do
  // not depend on the other images of the batch, bit for bit.
  at::Tensor evaluate(const at::Tensor& images, const std::vector<at::Tensor>& weights,
                      std::vector<ProgramStatistics> statistics);

 private:
  struct Function;

  // Plans the program again if its shape or the number of threads has changed.
  void prepare(std::unique_ptr<Program>& program, const at::Tensor& images,
               std::vector<bool> trained);
  at::Tensor run(Program& program, const at::Tensor& images, at::TensorList weights,
                 ProgramInputs& inputs);
  void draw_masks(const at::Tensor& images, const StepContext& context, ProgramInputs& inputs);

  const Network& network_;
  std::unique_ptr<Program> program_, evaluation_;
  at::Tensor memory_;              // of the program that ran last
  std::vector<at::Tensor> masks_;  // of the current step
  uint64_t runs_ = 0;
};

}  // namespace shoal::models
