#pragma once
// Information about the current step that layers need besides their input.
//
// Random masks (dropout, stochastic depth) are hashes of (seed, layer, row key, element), without
// generator state (masks.h). A sample has a different key in each epoch.

#include <cstddef>
#include <cstdint>
#include <functional>

namespace at {
class Tensor;
}

namespace shoal::models {

struct StepContext {
  // One key per row of the batch, in memory of the model's device. Must stay valid during forward.
  // Not used in evaluation.
  const uint64_t* keys = nullptr;
  uint64_t seed = 0;    // seed of the run
  double strength = 1;  // factor on dropout rates, but not on drop path rates; 0 or more
  // Sums a double tensor over all ranks in place. When it returns, operations on the tensor's
  // device can use the result. Collective: every rank must make the same calls in the same order.
  // Empty if there is only one rank or batch norm is not synchronized.
  std::function<void(at::Tensor&)> sum_across_ranks;
  // If set, backward may write the gradients of parameters into their .grad without autograd. It
  // then calls this function once per trained parameter, as soon as the gradient is written, with
  // the parameter's index in Network::parameters. Each .grad must be defined and have its
  // parameter's strides.
  std::function<void(size_t)> gradient_complete;
  // With gradient_complete: whether all .grad are zero, so that backward may overwrite them.
  bool gradients_are_zero = false;
};

}  // namespace shoal::models
