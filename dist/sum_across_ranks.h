#pragma once
// What a model's synchronised batch norm needs of the other ranks, as a plain function.

#include <functional>

#include "dist/group.h"

namespace shoal::dist {

// A function that adds its tensor over all ranks of `group`, in place; on a GPU the sum is ordered
// on the current stream. Empty for a group of one. Use a group that nothing else uses
// (Communicator::batch_norm), and call it in the same order on every rank. Keeps a handle of the
// group.
std::function<void(at::Tensor&)> sum_across_ranks(const Group& group);

}  // namespace shoal::dist
