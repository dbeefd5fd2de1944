#pragma once
// Logs a hash of an epoch's images: their order, labels, pixels and mixing. Equal runs log equal
// hashes.

#include <cstdint>

#include "dist/group.h"
#include "train/job/job.h"

namespace shoal::train {

// Logs the sum of all ranks' hashes if the log level is debug. `hash`: this rank's
// LoaderStats::hash over the epoch's images from step `first_step` on. Collective.
void log_data_hash(const ResolvedJob& job, int64_t epoch, int64_t first_step, uint64_t hash,
                   const dist::Group& group);

}  // namespace shoal::train
