#pragma once
// Information about the current step that layers need besides their input.
//
// Random masks (dropout, stochastic depth) are hashed from (seed, layer, row key). There is no
// generator state: an image gets the same mask at any world size, batch size and thread count. A
// key is unique for each epoch and sample.

#include <cstdint>
#include <functional>

namespace at {
class Tensor;
}

namespace shoal::models {

struct StepContext {
  // One key per row of the batch, in host memory, valid during forward. Unused in evaluation.
  const uint64_t* keys = nullptr;
  uint64_t seed = 0;    // seed of the run
  double strength = 1;  // factor on the dropout rate, 0 or more
  // Sums a double tensor over all ranks in place. Returns when the result is ready for use on the
  // tensor's device. Empty for a world of one and for batch norm that is not synchronized.
  // Collective: every rank calls it in the same order.
  std::function<void(at::Tensor&)> sum_across_ranks;
};

}  // namespace shoal::models
