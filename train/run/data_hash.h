#pragma once
// Of all images of an epoch, their order, pixels and mixing: equal runs print equal numbers.

#include <cstdint>

#include "dist/group.h"
#include "train/run/job.h"

namespace shoal::train {

// Prints the sum over ranks of what their loaders have counted since update `first_step` of the
// epoch, at log level debug. Collective.
void log_data_hash(const ResolvedJob& job, int64_t epoch, int64_t first_step, uint64_t hash,
                   const dist::Group& group);

}  // namespace shoal::train
