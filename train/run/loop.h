#pragma once
// The training run: epochs of steps, evaluation, checkpoints, and an orderly stop.

#include <exception>
#include <functional>
#include <memory>
#include <string>

#include "data/source.h"
#include "dist/connect.h"
#include "train/checkpoint/find_checkpoint.h"
#include "train/control/watchdog.h"
#include "train/job/job.h"
#include "train/job/meter.h"

namespace shoal::train {

struct RunResult {
  // SIGINT or SIGTERM if the run was stopped; 0 if it is complete. A stopped training is saved and
  // can be resumed.
  int stop_signal = 0;
  Meter last_evaluation;  // over all ranks; empty if there was none
};

// Loads `start`, then trains or, with --eval-only, only evaluates. Every rank must call it, with
// the same job and its own communicator. `train` and `val`: the images; `train` is null with
// --eval-only. Rank 0 writes files and metric lines. `describe` converts the exception that ends a
// run to the `reason` in summary.json. Throws UserError for a run that cannot be continued,
// std::runtime_error for failures of data, disk or network. `watchdog` may be null.
RunResult run(const ResolvedJob& job, Start start, std::shared_ptr<const data::Source> train,
              std::shared_ptr<const data::Source> val, dist::Communicator& communicator,
              const std::function<std::string(const std::exception&)>& describe,
              Watchdog* watchdog = nullptr);

}  // namespace shoal::train
