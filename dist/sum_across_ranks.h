#pragma once
// The cross-rank sum for synchronized batch norm, as a plain function.

#include <functional>

#include "dist/group.h"

namespace shoal::dist {

// Returns a function that sums its tensor over all ranks of `group` in place; on a GPU the sum is
// ordered on the current stream. Empty for a group of one. Use a dedicated group
// (Communicator::batch_norm) and call it in the same order on every rank. Keeps a handle to the
// group.
std::function<void(at::Tensor&)> sum_across_ranks(const Group& group);

}  // namespace shoal::dist
