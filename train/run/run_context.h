#pragma once
// The objects that the parts of a training run share. run() in loop.cpp owns them.

#include <string>
#include <vector>

#include "data/loader/loader.h"
#include "dist/connect.h"
#include "train/checkpoint/background_store.h"
#include "train/checkpoint/position.h"
#include "train/control/time_budget.h"
#include "train/job/job.h"
#include "train/report/reporter.h"
#include "train/step/trainer.h"

namespace shoal::train {

struct RunContext {
  const ResolvedJob& job;
  dist::Communicator& communicator;
  const std::vector<std::string>& classes;
  BackgroundStore& store;
  Trainer& trainer;
  Position& position;
  Reporter& reporter;
  TimeBudget& time;
  bool changed_settings;  // whether a resumed run's settings differ from its checkpoint's

  // Makes heartbeats name the image that `loader` waits for. `loader` must stay alive until the
  // next call of Progress::name_reads().
  void name_reads(const data::Loader& loader) const {
    communicator.progress->name_reads([&loader] { return loader.slowest_read(); });
  }
  bool leader() const { return communicator.rank() == 0; }
  bool epoch_complete() const { return train::epoch_complete(position, job); }
  // Whether the run has made its last step, as set by --epochs, --max-steps or --time-budget.
  bool steps_over() const { return train::steps_over(position, job); }
  // Whether the last step ended an epoch or the run, so that a checkpoint follows.
  bool epoch_or_run_over() const { return epoch_complete() || steps_over(); }
  // Whether the epoch is complete and --eval-every demands its evaluation.
  bool epoch_evaluation_due() const {
    return epoch_complete() && job.eval_every > 0 && (position.epoch + 1) % job.eval_every == 0;
  }
  // Whether to evaluate before the checkpoint at the end of this epoch or run. The end of a run is
  // always evaluated.
  bool evaluation_due() const { return steps_over() || epoch_evaluation_due(); }
  // Whether --patience N ends the run: none of the last N evaluations was better than the best one
  // before them.
  bool patience_over() const {
    return job.patience > 0 && position.evaluations_since_best >= job.patience;
  }
};

}  // namespace shoal::train
