#pragma once
// Information about the current step that layers need besides their input.
//
// Random masks (dropout, stochastic depth) are hashed from (seed, layer, row key). There is no
// generator state: an image gets the same mask at any world size, batch size and thread count. Each
// pair of epoch and sample has its own key.

#include <cstdint>
#include <functional>

namespace at {
class Tensor;
}

namespace shoal::models {

struct StepContext {
  // One key per row of the batch, in host memory. Must stay valid during forward. Not used in
  // evaluation.
  const uint64_t* keys = nullptr;
  uint64_t seed = 0;    // seed of the run
  double strength = 1;  // multiplies the dropout rate, but not the drop path rate; 0 or more
  // Sums a double tensor over all ranks in place. Returns when the result is ready for use on the
  // tensor's device. Collective: every rank must make the same calls in the same order. Empty if
  // there is only one rank or batch norm is not synchronized.
  std::function<void(at::Tensor&)> sum_across_ranks;
};

}  // namespace shoal::models
