#pragma once
// A hash of an epoch's images: their order, pixels and mixing. Equal runs print equal hashes.

#include <cstdint>

#include "dist/group.h"
#include "train/job/job.h"

namespace shoal::train {

// Logs the sum of all ranks' hashes, if the log level is debug. `hash`: from this rank's loader,
// since step `first_step` of the epoch. Collective.
void log_data_hash(const ResolvedJob& job, int64_t epoch, int64_t first_step, uint64_t hash,
                   const dist::Group& group);

}  // namespace shoal::train
