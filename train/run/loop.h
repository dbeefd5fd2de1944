#pragma once
// The training run: epochs of updates, evaluation, checkpoints, and an orderly stop.

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "dist/connect.h"
#include "train/checkpoint/resume.h"
#include "train/report/report.h"
#include "train/run/job.h"

namespace shoal::train {

struct RunResult {
  // SIGINT or SIGTERM when the run was stopped (saved, resumable), 0 when it is complete.
  int stop_signal = 0;
  Meter last_evaluation;  // over all ranks; empty when there was none
};

// Trains as `job` says, from `start` on. Collective: every rank calls it with the same job and its
// own communicator.
// Rank 0 writes files and metric lines. `describe` turns the exception that ends a run into the
// sentence that summary.json gives as the reason. Throws UserError for what cannot be continued,
// std::runtime_error for the world's failures.
RunResult run(const ResolvedJob& job, Start start, std::shared_ptr<const data::Source> train,
              std::shared_ptr<const data::Source> val, dist::Communicator& communicator,
              const std::function<std::string(const std::exception&)>& describe);

}  // namespace shoal::train
