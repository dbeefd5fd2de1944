#pragma once
// Queries resources of this host without LibTorch and without creating a GPU context.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "dist/env/env.h"

namespace shoal::app {

// Number of NVIDIA GPUs that a process with these variables may use. Counts the entries of
// /proc/driver/nvidia/gpus, else the device files /dev/nvidia0, …, and applies
// CUDA_VISIBLE_DEVICES.
int gpu_count(const dist::Variables& environment);

// Number of `present` GPUs that CUDA_VISIBLE_DEVICES leaves visible.
int visible_gpus(int present, const dist::Variables& environment);

// Number of processors that this process may use: its affinity mask, limited by the cgroup's CPU
// quota (rounded up).
int usable_processors();

// Whether the parent process may use more processors than this one. mpirun and srun bind each of
// their processes to its own processors.
bool bound_by_parent();

// CPU quota, in processors, from a cgroup v2 directory (cpu.max) or v1 directory
// (cpu.cfs_quota_us). 0: no quota.
double processor_quota(const std::filesystem::path& cgroup);

// Memory that this process may use, in bytes: the machine's memory, or the cgroup's limit if lower.
uint64_t memory_bytes();
uint64_t available_memory_bytes();  // the part that is free or quickly reclaimable now

// Returns the path of another program of shoal: next to the running executable, or in ../libexec.
// Throws SetupMissing that names the folders searched or a missing shared library.
std::filesystem::path installed_program(const std::string& name);
std::filesystem::path worker_program();  // the path of shoal-worker

// Returns the names of shared libraries of `program` that the dynamic loader does not find.
std::vector<std::string> missing_libraries(const std::filesystem::path& program);

// Returns VALUE of the first line "KEY… : VALUE" of a file such as /proc/cpuinfo, or an empty
// string.
std::string proc_value(const char* path, const std::string& key);

}  // namespace shoal::app
