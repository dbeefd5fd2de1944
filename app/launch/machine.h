#pragma once
// Resources of this host, found without LibTorch and without creating a GPU context.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "dist/env/env.h"

namespace shoal::app {

// Number of NVIDIA GPUs that a process with these variables may use: entries of
// /proc/driver/nvidia/gpus, else device files /dev/nvidia0 …, limited by CUDA_VISIBLE_DEVICES.
int gpu_count(const dist::Variables& environment);

// Number of `present` GPUs that CUDA_VISIBLE_DEVICES leaves visible.
int visible_gpus(int present, const dist::Variables& environment);

// Number of processors this process may use: its affinity mask, limited by the cgroup's quota
// (rounded up).
int usable_processors();

// Whether the parent process may use more processors than this one. mpirun and srun bind each of
// their processes to its own processors.
bool bound_by_parent();

// The quota in processors from a cgroup v2 directory (cpu.max) or v1 directory (cpu.cfs_quota_us);
// 0 without a quota.
double processor_quota(const std::filesystem::path& cgroup);

// Bytes this process may use: the machine's memory, or the cgroup's limit if lower.
uint64_t memory_bytes();
uint64_t available_memory_bytes();  // of these, free or quickly reclaimable now

// Path of shoal-worker: next to the running executable, or in ../libexec. Throws SetupMissing naming
// the places searched or the shared libraries missing.
std::filesystem::path worker_program();

// Names of the shared libraries of `program` that the dynamic loader does not find.
std::vector<std::string> missing_libraries(const std::filesystem::path& program);

std::string host_name();

}  // namespace shoal::app
