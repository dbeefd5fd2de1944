#pragma once
// The objects that the parts of a training run share. run() in loop.cpp owns them.

#include <string>
#include <vector>

#include "dist/connect.h"
#include "train/checkpoint/checkpoint_store.h"
#include "train/checkpoint/position.h"
#include "train/job/job.h"
#include "train/report/reporter.h"
#include "train/step/trainer.h"

namespace shoal::train {

struct RunContext {
  const ResolvedJob& job;
  dist::Communicator& communicator;
  const std::vector<std::string>& classes;
  CheckpointStore& store;
  Trainer& trainer;
  Position& position;
  Reporter& reporter;

  // From now on, heartbeats name the image that `loader` waits for.
  void name_reads(const data::Loader& loader) const {
    communicator.progress->name_reads([&loader] { return loader.slowest_read(); });
  }
  bool leader() const { return communicator.rank() == 0; }
  // Whether the epoch has made all its steps or a stream has ended.
  bool epoch_complete() const {
    const bool all_steps = !job.open_ended && position.step_in_epoch == job.steps_per_epoch;
    return all_steps || position.epoch_over;
  }
  // Whether the last step ended an epoch or the run, so that an evaluation and a checkpoint follow.
  bool evaluation_due() const { return epoch_complete() || position.step == job.last_step; }
};

}  // namespace shoal::train
