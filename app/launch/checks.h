#pragma once
// The checks of `shoal doctor`, used by shoal and shoal-worker. Does not use LibTorch.

#include <functional>
#include <string>
#include <vector>

#include "app/options/options.h"
#include "dist/env/env.h"
#include "train/job/job.h"

namespace shoal::app {

struct Check {
  enum class Verdict { ok, warn, bad };
  Verdict verdict = Verdict::ok;
  std::string name, value;
  std::string advice;  // what to do; may be empty
};

// Returns one line: "ok    memory: 24.0 GiB, 20.1 GiB free" or "warn  /dev/shm: 64 MiB — start the
// container with --shm-size=1g".
std::string to_line(const Check& check);

// Runs groups of checks and prints one line per check on stdout. A group that throws counts as one
// bad check. Returns kFailure if any check is bad, else kOk.
int print_checks(const std::vector<std::function<std::vector<Check>()>>& groups);

// Returns the checks of this host: processor, memory, /dev/shm, open files, network, folders, GPUs
// and their driver, EFA, the worker program.
std::vector<std::function<std::vector<Check>()>> host_checks(const train::Job& job,
                                                             const dist::Variables& environment);

// Runs the checks that a training run makes after its processes have connected: memory, /dev/shm.
std::vector<Check> memory_checks();

// Runs the checks that `shoal` makes before it starts workers: the limits (ulimit) of open files,
// address space and file sizes, and whether this process can start `threads` more threads.
std::vector<Check> limit_checks(int threads);

// Number of threads of a worker, besides those that compute and load images. Most belong to Gloo.
inline constexpr int kThreadsPerWorker = 12;

// For --launcher: reports how a command with these options would start its workers: the launcher,
// the variables that identify it, and each worker.
std::vector<Check> launcher_checks(const Arguments& arguments, const dist::Variables& environment);

}  // namespace shoal::app
