#pragma once
// The name of the kernels that compute a run's steps.

#include <string>

#include "train/job/job.h"

namespace shoal::train {

// Returns the name of the CPU kernels or of the GPU. The results of runs with different kernel
// names may differ in the last bits.
std::string kernels_of(const ResolvedJob& job);

}  // namespace shoal::train
