#pragma once
// Declares the function that shoal-worker runs for each command of app/options/commands.def. Each
// returns an exit code; guarded_main() (platform/failure.h) reports its exceptions.

#include "app/options/options.h"

namespace shoal::app {

#define COMMAND(name, constant, paths, run_in_shoal, run_in_worker, ...) \
  int run_in_worker(const Arguments& arguments);
#include "app/options/commands.def"

}  // namespace shoal::app
