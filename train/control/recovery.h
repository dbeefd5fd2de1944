#pragma once
// Reports unusual losses and step times. On a loss spike, --on-spike decides whether the run also
// saves a checkpoint or rolls back.
//
// A rollback (--on-spike rollback) restores parameters, optimizer state, batch norm statistics and
// averaged weights from the newest intact checkpoint that is at least two steps older than the
// spike. The run does not repeat the steps between that checkpoint and the spike. It skips their
// images and continues after the spike, so step numbers, schedule and image order do not change.
//
// A spike within 64 steps after the skipped steps belongs to the same series as the spike before.
// Every rollback of a series goes back to before the first spike of the series. The second rollback
// also skips the images of the next 2 steps, the third those of the next 4 steps, and so on.

#include <cstdint>
#include <stdexcept>
#include <string>

#include "dist/connect.h"
#include "train/checkpoint/background_store.h"
#include "train/checkpoint/position.h"
#include "train/control/watch.h"
#include "train/report/report.h"
#include "train/step/trainer.h"

namespace shoal::train {

// Thrown if the loss spikes again after 12 rollbacks in one series. All ranks throw it at the same
// step.
struct RollbacksFailed : std::runtime_error {
  using runtime_error::runtime_error;
};

class Recovery {
 public:
  // Restores the LossWatch from position.losses. All references must outlive this object.
  Recovery(const ResolvedJob& job, Trainer& trainer, BackgroundStore& store,
           dist::Communicator& communicator, ReportSink& reporter, Position& position);

  // Handles the loss of step `step`. `metrics`: the step's metrics over all ranks. Returns true if
  // the caller should save a checkpoint. Throws RollbacksFailed, or std::runtime_error if a
  // rollback finds only damaged checkpoints. Collective.
  bool add_loss(const Meter& metrics, int64_t step);
  // Adds the duration of a step in seconds. Reports an event if the steps of this rank become
  // slower or faster.
  void add_step_time(double seconds);

  // Rolls back because the loss spiked in step `spike`. If there is no checkpoint to roll back to,
  // only logs a warning. Throws like add_loss(). Collective.
  void roll_back(int64_t spike);

  std::string losses() const { return losses_.state(); }  // to store in Position::losses

 private:
  [[noreturn]] void fail(int64_t spike);

  const ResolvedJob& job_;
  Trainer& trainer_;
  BackgroundStore& store_;
  dist::Communicator& communicator_;
  ReportSink& reporter_;
  Position& position_;
  LossWatch losses_;
  SpeedWatch speed_;
};

}  // namespace shoal::train
