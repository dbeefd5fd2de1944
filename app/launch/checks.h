#pragma once
// What `shoal doctor` finds, and how it is printed. Both executables use it. Torch-free.

#include <functional>
#include <string>
#include <vector>

#include "app/options/options.h"
#include "dist/env/env.h"
#include "train/run/job.h"

namespace shoal::app {

struct Check {
  enum class Verdict { ok, warn, bad };
  Verdict verdict = Verdict::ok;
  std::string name, value;
  std::string advice;  // what to do; empty when there is nothing to do
};

// "ok    memory: 24.0 GiB, 20.1 GiB free" or "warn  /dev/shm: 64 MiB — start the container with
// --shm-size=1g"
std::string to_line(const Check& check);

// Prints one line per check on stdout as soon as it is done; a check that throws becomes a "bad"
// one. Returns 1 when something is bad, else 0.
int print_checks(const std::vector<std::function<std::vector<Check>()>>& groups);

// The host: processor, memory, /dev/shm, open files, network, directories, GPUs and their driver,
// EFA, the worker.
std::vector<std::function<std::vector<Check>()>> host_checks(const train::Job& job,
                                                             const dist::Variables& environment);

// The part of it that a long run should not begin without: memory and open files.
std::vector<Check> resource_checks();

// How a command started here and now, with these options, would find its ranks (--launcher): who
// has started it, from which variables, and what its workers are.
std::vector<Check> launcher_checks(const Arguments& arguments, const dist::Variables& environment);

}  // namespace shoal::app
