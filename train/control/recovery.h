#pragma once
// Handles loss spikes: logs the spike and, depending on --on-spike, saves a checkpoint or rolls
// back.
//
// A rollback (--on-spike rollback) restores parameters, optimizer, statistics and averages from the
// newest intact checkpoint before the spike. The run does not repeat the steps since then. It skips
// their images and continues after the spike, so step numbers, schedule and image order do not
// change. If the loss spikes again within 64 steps, the spikes form a series: the next rollback
// also skips the images of 2 further steps, then of 4, 8, ….

#include <cstdint>
#include <stdexcept>
#include <string>

#include "dist/connect.h"
#include "train/checkpoint/checkpoint_store.h"
#include "train/checkpoint/position.h"
#include "train/control/watch.h"
#include "train/report/report.h"
#include "train/step/trainer.h"

namespace shoal::train {

// Thrown if the loss spikes again after each of many rollbacks, on all ranks at the same step.
struct RollbacksFailed : std::runtime_error {
  using runtime_error::runtime_error;
};

class Recovery {
 public:
  // Restores the loss watch from position.losses. All references must outlive this object.
  Recovery(const ResolvedJob& job, Trainer& trainer, CheckpointStore& store,
           dist::Communicator& communicator, ReportSink& reporter, Position& position);

  // Handles the loss of step `step`. `metrics`: over all ranks. Returns true if a checkpoint should
  // be saved. Throws RollbacksFailed; std::runtime_error if a rollback finds only damaged
  // checkpoints. Collective.
  bool add_loss(const Meter& metrics, int64_t step);
  // Adds the duration of a step. Reports an event if the steps of this rank become slower or
  // faster.
  void add_step_time(double seconds);

  // Rolls back because of the spike in this step. Collective.
  void roll_back(int64_t spike);

  std::string losses() const { return losses_.state(); }  // for position.losses

 private:
  [[noreturn]] void fail(int64_t spike);

  const ResolvedJob& job_;
  Trainer& trainer_;
  CheckpointStore& store_;
  dist::Communicator& communicator_;
  ReportSink& reporter_;
  Position& position_;
  LossWatch losses_;
  SpeedWatch speed_;
};

}  // namespace shoal::train
