#pragma once
// Declares the functions that `shoal` runs for the commands of app/options/commands.def. They do
// not use LibTorch. Each returns an exit code.

#include <string>
#include <vector>

#include "app/options/options.h"
#include "dist/env/env.h"

namespace shoal::app {

struct Call {
  const Arguments& arguments;
  const std::vector<std::string>& words;  // command line without the program's name, for workers
  const dist::Variables& environment;
};

// start_ranks: starts and watches one worker per rank of this host (train, eval, predict). A single
// worker replaces this process, unless this process is PID 1 or runs on SageMaker.
// start_worker: does the same for a command that always has one worker (export, pack, …).
// report_command replaces this process with shoal-report. doctor_command also starts shoal-worker.
// The other functions do the work of their command in this process.
#define COMMAND(name, constant, paths, run_in_shoal, ...) int run_in_shoal(const Call& call);
#include "app/options/commands.def"

// Removes the failure file of an earlier run. Does nothing under a launcher.
void clear_earlier_failure(const dist::Variables& environment);

}  // namespace shoal::app
