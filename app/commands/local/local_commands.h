#pragma once
// What `shoal` runs for each command, without LibTorch; app/options/commands.def lists it. Each
// function returns an exit code.

#include <string>
#include <vector>

#include "app/options/options.h"
#include "dist/env/env.h"

namespace shoal::app {

struct Call {
  const Arguments& arguments;
  const std::vector<std::string>& words;  // the command line after the program's name, for workers
  const dist::Variables& environment;
};

// start_ranks: starts one worker per rank of this host and watches them (train, eval).
// start_worker: one worker, which replaces this process (predict, pack …).
// The others do the work of their command here.
#define COMMAND(name, constant, paths, run_in_shoal, ...) int run_in_shoal(const Call& call);
#include "app/options/commands.def"

}  // namespace shoal::app
