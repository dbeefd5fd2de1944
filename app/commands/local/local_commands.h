#pragma once
// The commands that `shoal` itself runs, without LibTorch. Each returns an exit code.

#include <string>
#include <vector>

#include "app/options/options.h"
#include "dist/env/env.h"

namespace shoal::app {

// `words`: the command line after the program's name, for handing it on to the worker.
struct Call {
  const Arguments& arguments;
  const std::vector<std::string>& words;
  const dist::Variables& environment;
};

int run_distributed(const Call& call);  // train, eval: as many workers as were asked for
int run_worker(const Call& call);       // predict, pack, models: one worker
int run_metrics(const Call& call);
int run_doctor(const Call& call);

}  // namespace shoal::app
