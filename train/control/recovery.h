#pragma once
// What a run does about a loss that spikes: says so, saves, or goes back.
//
// Going back (--on-spike rollback): parameters, optimizer, statistics and averages become those of
// the newest good checkpoint from before the spike. The run does not repeat what came since: it
// goes on behind it, so the images of the updates in between are skipped, and update numbers,
// schedule and order stay what they would have been. When the loss spikes again soon, the images
// of 2, 4, 8, … more updates are skipped, until the run is past what troubles it.

#include <cstdint>
#include <string>

#include "dist/control_message.h"
#include "train/checkpoint/checkpoint_store.h"
#include "train/checkpoint/position.h"
#include "train/control/watch.h"
#include "train/report/report.h"
#include "train/step/trainer.h"

namespace shoal::train {

class Recovery {
 public:
  // Goes on from position.losses; all referred to outlive it.
  Recovery(const ResolvedJob& job, Trainer& trainer, CheckpointStore& store,
           dist::Communicator& communicator, Reporter& reporter, Position& position);

  // What all ranks have said of update `step`, when position.step updates are done. True: a
  // checkpoint is asked for. Throws std::runtime_error when going back does not help. Collective.
  bool heard(const dist::ControlMessage& word, int64_t step);
  std::string losses() const { return losses_.state(); }  // for position.losses
  // Seconds of an update of this rank.
  void took(double seconds);

 private:
  void roll_back(int64_t spike);
  void begin_trouble(int64_t spike);

  const ResolvedJob& job_;
  Trainer& trainer_;
  CheckpointStore& store_;
  dist::Communicator& communicator_;
  Reporter& reporter_;
  Position& position_;
  LossWatch losses_;
  SpeedWatch speed_;
};

}  // namespace shoal::train
