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

// Returns one line: "ok    memory: 24.00 GB, 20.10 GB free"; advice follows the value after a dash.
std::string to_line(const Check& check);

// Runs groups of checks and prints one line per check on stdout. A group that throws counts as one
// bad check. Returns kFailure if any check is bad, else kOk.
int print_checks(const std::vector<std::function<std::vector<Check>()>>& groups);

// Returns functions that check this host, for print_checks(): processor, memory, /dev/shm, limits
// (limit_checks()), network, folders, GPUs and their driver, EFA, the worker program. `processes`:
// the number of processes on this host (--nproc). `job` and `environment` must outlive the
// functions.
std::vector<std::function<std::vector<Check>()>> host_checks(const train::Job& job, int processes,
                                                             const dist::Variables& environment);

// Checks memory and /dev/shm. Training runs call this after the ranks have connected.
std::vector<Check> memory_checks();

// Checks the limits (ulimit) of open files, address space and file sizes, and whether this process
// can start `threads` more threads (it starts and ends them). `shoal` calls this before it starts
// workers.
std::vector<Check> limit_checks(int threads);

// Returns how many threads the workers of this host start.
int threads_needed(const train::Job& job, int workers);

// Returns the output of `shoal doctor --launcher`: how a command with these options would start its
// workers. Contains the launcher, the variables that identify it, each worker, and EFA.
std::vector<Check> launcher_checks(const Arguments& arguments, const dist::Variables& environment);

}  // namespace shoal::app
