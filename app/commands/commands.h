#pragma once
// The commands that run inside shoal-worker, which links LibTorch; app/options/commands.def lists
// them. Each returns an exit code. Exceptions are reported by guarded_main (platform/failure.h).

#include "app/options/options.h"

namespace shoal::app {

#define COMMAND(name, constant, paths, run_in_shoal, run_in_worker, ...) \
  int run_in_worker(const Arguments& arguments);
#include "app/options/commands.def"

}  // namespace shoal::app
