#pragma once
// Queries resources of this host without LibTorch and without creating a GPU context.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "dist/env/env.h"

namespace shoal::app {

// Returns the number of NVIDIA GPUs that a process with these variables may use. Counts the entries
// of /proc/driver/nvidia/gpus, else the device files /dev/nvidia0, …, and applies
// CUDA_VISIBLE_DEVICES.
int gpu_count(const dist::Variables& environment);

// Returns the number of GPUs that CUDA_VISIBLE_DEVICES leaves visible. `present`: GPUs installed.
int visible_gpus(int present, const dist::Variables& environment);

// Returns the number of processors that this process may use: those in its affinity mask, but at
// most the smallest CPU quota of its cgroups (rounded up).
int usable_processors();

// Whether this process may use fewer processors than its parent, because a launcher (mpirun, srun)
// has bound each process to processors of its own.
bool bound_by_parent();

// Returns the folders of all cgroups whose limits for `controller` ("cpu", "memory") apply to a
// process: its own cgroup and those above it, for cgroup v2 and v1. `text`: contents of the
// process's /proc/PID/cgroup. `mount`: where the cgroups are mounted. Some folders may not exist.
std::vector<std::filesystem::path> cgroup_folders(const std::string& text,
                                                  const std::filesystem::path& mount,
                                                  const std::string& controller);

// Returns the CPU quota, in processors, of a cgroup v2 directory (cpu.max) or v1 directory
// (cpu.cfs_quota_us); 0 if there is none.
double processor_quota(const std::filesystem::path& cgroup);

// Returns the bytes that this process may use: the machine's memory or, if lower, the cgroup's
// limit.
uint64_t memory_bytes();
uint64_t available_memory_bytes();  // the part that is free or quickly reclaimable now

// Returns the bytes that can still be allocated within the memory limit of a cgroup v2 or v1
// directory. Inactive file cache counts as available. nullopt: there is no limit.
std::optional<uint64_t> cgroup_available(const std::filesystem::path& cgroup);

// Returns the path of another program of shoal: next to the running executable, or in ../libexec.
// Throws SetupMissing that names the folders searched or a missing shared library.
std::filesystem::path installed_program(const std::string& name);
std::filesystem::path worker_program();  // the path of shoal-worker

// Returns the names of shared libraries of `program` that the dynamic loader does not find.
std::vector<std::string> missing_libraries(const std::filesystem::path& program);

}  // namespace shoal::app
