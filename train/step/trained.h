#pragma once
// Which parameters are trained with --freeze and --freeze-bn.

#include "models/network.h"
#include "train/job/job.h"

namespace shoal::train {

// Whether a parameter is trained while the first `frozen` stages are frozen.
inline bool is_trained(const models::Traits& traits, int64_t frozen, const RunOptions& job) {
  return traits.stage >= frozen && !(traits.norm && job.freeze_bn);
}

}  // namespace shoal::train
