#pragma once
// Decisions between two steps. The ranks exchange control messages and then all continue, stop,
// save, roll back or fail.

#include <cstdint>

#include "dist/control_message.h"
#include "train/control/recovery.h"
#include "train/control/unreadable_images.h"
#include "train/run/run_checkpoints.h"
#include "train/run/run_context.h"

namespace shoal::train {

class StepControl {
 public:
  // All references must outlive this object.
  StepControl(const RunContext& run, dist::ControlChannel& control, Recovery& recovery,
              RunCheckpoints& checkpoints);

  void begin_epoch() {
    unreadable_.begin_epoch(run_.position.step_in_epoch);
    run_.time.begin_epoch();
  }

  // Call it after each step. Acts on the step's loss, posts the step's control message, and acts on
  // the previous step's message, which has usually arrived by now. `step`: metrics of the step over
  // all ranks. `unreadable`: number of images that this rank could not read since the epoch began.
  // May save a checkpoint. Returns the signal that stops the run, or 0. Throws std::runtime_error
  // if too many images are unreadable or rollbacks do not help, and what RunCheckpoints::save()
  // throws. Collective.
  int exchange(const Meter& step, int64_t unreadable);

  // Acts on the message of the last step without posting another one. Call it at the end of an
  // epoch. `stop_signal`: a signal that arrived while the ranks waited for images, or 0. Returns
  // and throws like exchange(). Collective.
  int apply_last(int stop_signal = 0);

 private:
  // Acts on the message that all ranks posted after step `step` (from 1). `save`: whether the loss
  // of the latest step requires a checkpoint. Returns the message's stop signal.
  int apply(const dist::ControlMessage& message, int64_t step, bool save = false);
  bool handle_loss(const Meter& step);
  std::string count_unreadable(int64_t images, int64_t step);

  const RunContext& run_;
  dist::ControlChannel& control_;
  Recovery& recovery_;
  RunCheckpoints& checkpoints_;
  UnreadableImages unreadable_{run_.job, run_.position.unreadable};
};

}  // namespace shoal::train
