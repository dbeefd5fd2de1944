#include "train/trial/peak_memory.h"

#include <sys/resource.h>

#include "train/step/cuda/open.h"

namespace shoal::train {

int64_t peak_memory() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return int64_t{usage.ru_maxrss} * 1024;
}

int64_t peak_gpu_memory(const ResolvedJob& job) {
  if (job.device != "cuda") return 0;
  return static_cast<int64_t>(cuda_plugin().memory_statistics(job.gpu).peak_reserved_bytes);
}

}  // namespace shoal::train
