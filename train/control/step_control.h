#pragma once
// What happens between two steps: the ranks exchange a control message and act on it together (stop,
// save, roll back, give up).

#include <cstdint>

#include "train/control/control_exchange.h"
#include "train/control/recovery.h"
#include "train/control/unreadable_images.h"
#include "train/run/run_checkpoints.h"
#include "train/run/run_context.h"

namespace shoal::train {

class StepControl {
 public:
  // All references must outlive it.
  StepControl(const RunContext& run, ControlExchange& control, Recovery& recovery,
              RunCheckpoints& checkpoints);

  void begin_epoch() { unreadable_.begin_epoch(); }

  // Applies the message of the step before, which has long arrived, and posts the next one. `step`:
  // metrics of this rank's last step. `unreadable`: images that this rank could not read in the
  // epoch. Returns the signal that stops the run, else 0. May save. Throws std::runtime_error if too
  // many images are unreadable or rollbacks do not help. Collective.
  int exchange(const Meter& step, int64_t unreadable);

  // The same for the message of the epoch's last step; posts none. `stop_signal`: one that came while
  // the ranks waited for images.
  int apply_last(int stop_signal = 0);

 private:
  int apply(const dist::ControlMessage& message, int64_t step);

  const RunContext& run_;
  ControlExchange& control_;
  Recovery& recovery_;
  RunCheckpoints& checkpoints_;
  UnreadableImages unreadable_{run_.job};
};

}  // namespace shoal::train
