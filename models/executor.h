#pragma once
// Runs a network with autograd, one node after another, in float32, float64 or bfloat16.
// The executor defines what a network computes. On the CPU, it can let FusedStep compute training
// steps and evaluations in float32 and bfloat16 instead; results then differ in rounding.

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "models/fused_step.h"
#include "models/model.h"
#include "models/network.h"

namespace shoal::models {

class Executor final : public Classifier {
 public:
  // Creates the tensors on the CPU in float32. The initial weights are drawn from `seed`. Throws
  // std::invalid_argument if `kernels` is fused and the network has a fused_obstacle().
  Executor(Network network, uint64_t seed, Kernels kernels = Kernels::reference);
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  at::Tensor forward(const at::Tensor& images, const StepContext& context) override;
  void train(bool on) override { training_ = on; }
  std::vector<ParameterSlot> parameters() override;
  std::vector<BatchNormSlot> batch_norms() override;
  const ModelInfo& info() const override { return network_.info; }

 private:
  struct Buffers {
    at::Tensor running_mean, running_var, batches_tracked, pending;
    bool fixed = false;  // see BatchNormSlot
  };
  struct Step;

  bool fuses(const at::Tensor& images, const StepContext& context) const;

  const Network network_;
  std::vector<at::Tensor> weights_, copies_;  // one per entry of Network::parameters
  std::vector<Buffers> buffers_;              // one per entry of Network::statistics
  std::vector<int> last_use_;                 // for each node: the last node that reads its output
  std::unique_ptr<FusedStep> fused_;          // nullptr: not used
  bool training_ = true;
};

}  // namespace shoal::models
