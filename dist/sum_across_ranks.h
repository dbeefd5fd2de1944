#pragma once
// The sum over ranks for synchronized batch norm, as a function for models::StepContext.

#include <functional>

#include "dist/group.h"

namespace shoal::dist {

// Returns a function that sums its tensor over all ranks of `group` in place, as
// Group::all_reduce_sum(). For a group of one, returns an empty function. Use a dedicated group
// (Communicator::batch_norm), and make the same calls in the same order on every rank. The function
// keeps a handle to the group.
std::function<void(at::Tensor&)> sum_across_ranks(const Group& group);

}  // namespace shoal::dist
