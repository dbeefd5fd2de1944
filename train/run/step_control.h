#pragma once
// The decisions between two steps. The ranks exchange a control message and act on it together:
// they continue, stop, save, roll back or fail.

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

  // Posts this step's message. Acts on the step's loss and on the previous step's message, which
  // has usually arrived by now. `step`: metrics of the last step over all ranks. `unreadable`:
  // number of images that this rank could not read since the epoch began. May save a checkpoint.
  // Returns the signal that stops the run, or 0. Throws std::runtime_error if too many images are
  // unreadable or rollbacks do not help. Collective.
  int exchange(const Meter& step, int64_t unreadable);

  // Acts on the message of the epoch's last step, but posts none. `stop_signal`: a signal that came
  // while the ranks waited for images, or 0. Returns and throws like exchange(). Collective.
  int apply_last(int stop_signal = 0);

 private:
  // Acts on the message that all ranks posted after step `step`. `save`: whether the step that was
  // just made requires a checkpoint.
  int apply(const dist::ControlMessage& message, int64_t step, bool save = false);
  bool handle_loss(const Meter& step);

  const RunContext& run_;
  dist::ControlChannel& control_;
  Recovery& recovery_;
  RunCheckpoints& checkpoints_;
  UnreadableImages unreadable_{run_.job, run_.position.unreadable};
};

}  // namespace shoal::train
