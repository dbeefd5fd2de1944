#pragma once
// The sum over ranks for synchronized batch norm, as a function for models::StepContext.

#include <functional>

#include "dist/group.h"

namespace shoal::dist {

// Returns a function that calls group.all_reduce_sum() and keeps a handle to the group. For a group
// of one, returns an empty function. Use a dedicated group (Communicator::batch_norm), and make the
// same calls in the same order on every rank.
std::function<void(at::Tensor&)> sum_across_ranks(const Group& group);

}  // namespace shoal::dist
