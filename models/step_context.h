#pragma once
// What a layer may know about the step it is part of, besides its input.
//
// Random masks (dropout, stochastic depth) are hashed from (seed, layer, row key): no generator
// state, the same image gets the same mask at any world size, batch size and thread count. A key
// is unique per epoch and sample.

#include <cstdint>
#include <functional>

namespace at {
class Tensor;
}

namespace shoal::models {

struct StepContext {
  // One per row of the batch, host memory, valid during forward; unused in evaluation.
  const uint64_t* keys = nullptr;
  uint64_t seed = 0;    // of the run
  double strength = 1;  // factor of dropout, 0 or more
  // Adds a double tensor over all ranks, in place, and returns when the values may be read on the
  // tensor's device. Empty: a world of one, or batch norm that is not synchronised. Every rank
  // calls it in the same order.
  std::function<void(at::Tensor&)> sum_across_ranks;
};

}  // namespace shoal::models
