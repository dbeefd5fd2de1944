#pragma once
// Hash of an epoch's images, their order, pixels and mixing: equal runs print equal hashes.

#include <cstdint>

#include "dist/group.h"
#include "train/run/job.h"

namespace shoal::train {

// Logs the sum over ranks of their loaders' hashes since step `first_step` of the epoch, at log level
// debug. Collective.
void log_data_hash(const ResolvedJob& job, int64_t epoch, int64_t first_step, uint64_t hash,
                   const dist::Group& group);

}  // namespace shoal::train
