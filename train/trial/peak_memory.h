#pragma once
// Peak memory of this process, for reports.

#include <cstdint>

#include "train/job/job.h"

namespace shoal::train {

int64_t peak_memory();  // bytes
// Peak GPU memory in bytes that LibTorch's allocator reserved; 0 without a GPU.
int64_t peak_gpu_memory(const ResolvedJob& job);

}  // namespace shoal::train
