#pragma once
// Connects the fused step (program/program.h) with LibTorch. In training, the whole network is one
// autograd function from the weights to the logits. If StepContext::gradient_complete is set, the
// function's backward writes the gradients into .grad itself; otherwise it returns them, and
// autograd accumulates them. Not thread-safe.

#include <ATen/core/Tensor.h>

#include <functional>
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
  // float32. The images are float32 or bfloat16; the activations have the same type. Run backward
  // through the result at most once, and before the next forward() or evaluate(), which overwrite
  // the activations. After either call, backward throws std::logic_error.
  at::Tensor forward(const at::Tensor& images, const std::vector<at::Tensor>& weights,
                     std::vector<ProgramStatistics> statistics, const StepContext& context);
  // Computes the logits with the running statistics and without dropout. An image's logits do not
  // depend on the other images of the batch, not even in rounding.
  at::Tensor evaluate(const at::Tensor& images, const std::vector<at::Tensor>& weights,
                      std::vector<ProgramStatistics> statistics);

 private:
  struct Function;

  // Creates `program`, or replaces it if the StepShape or the number of threads has changed.
  void prepare(std::unique_ptr<Program>& program, const at::Tensor& images,
               std::vector<bool> trained);
  at::Tensor run(Program& program, const at::Tensor& images, at::TensorList weights,
                 ProgramInputs& inputs);
  std::vector<at::Tensor> differentiate(const float* d_logits,
                                        const std::vector<at::Tensor>& weights);
  void draw_masks(const at::Tensor& images, const StepContext& context, ProgramInputs& inputs);

  const Network& network_;
  std::unique_ptr<Program> program_, evaluation_;
  at::Tensor memory_;                     // shared by both programs
  std::vector<at::Tensor> masks_;         // of the current step
  std::function<void(size_t)> complete_;  // StepContext::gradient_complete of the current step
  bool gradients_are_zero_ = false;       // StepContext::gradients_are_zero of the current step
  uint64_t runs_ = 0;                     // calls of forward() and evaluate()
};

}  // namespace shoal::models
