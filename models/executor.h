#pragma once
// Runs a network with autograd, one node after another, in any of the four dtypes. It defines what
// a network computes.

#include <ATen/core/Tensor.h>

#include <vector>

#include "models/model.h"
#include "models/network.h"

namespace shoal::models {

class Executor final : public Classifier {
 public:
  // Creates the tensors on the CPU in float32. The initial weights are drawn from `seed`.
  Executor(Network network, uint64_t seed);
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

  const Network network_;
  std::vector<at::Tensor> weights_, copies_;  // of Network::parameters
  std::vector<Buffers> buffers_;              // of Network::statistics
  std::vector<int> last_use_;                 // of each node's output: index of a node
  bool training_ = true;
};

}  // namespace shoal::models
