#pragma once
// What this host offers, found without LibTorch and without starting a GPU context.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "dist/env/env.h"

namespace shoal::app {

// NVIDIA GPUs of this host that a process with these variables may use: entries of
// /proc/driver/nvidia/gpus, else device files /dev/nvidia0 …; CUDA_VISIBLE_DEVICES narrows them
// down.
int gpu_count(const dist::Variables& environment);

// How many of `present` GPUs CUDA_VISIBLE_DEVICES leaves in sight.
int visible_gpus(int present, const dist::Variables& environment);

// Processors this process may use: its affinity mask, and no more than the control group's quota
// allows (rounded up).
int usable_processors();

// Whether the process that started this one may use more processors: mpirun and srun bind each of
// their processes to its own ones, which it need not share.
bool bound_by_parent();

// The quota in processors from a cgroup v2 directory (cpu.max) or a v1 one (cpu.cfs_quota_us); 0
// when there is none.
double processor_quota(const std::filesystem::path& cgroup);

// Bytes this process may use: the machine's memory, or the control group's limit where that is
// lower.
uint64_t memory_bytes();
uint64_t available_memory_bytes();  // thereof free or easily freed now

// The program that computes: shoal-worker beside the running executable, or in ../libexec. Throws
// SetupMissing naming the places it was looked for, or the shared libraries it does not find.
std::filesystem::path worker_program();

// Names of the shared libraries that `program` needs and the system's loader does not find.
std::vector<std::string> missing_libraries(const std::filesystem::path& program);

std::string host_name();

}  // namespace shoal::app
