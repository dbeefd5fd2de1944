#pragma once
// Exchanges the control message once per step and remembers its metrics for checkpoints.
//
// A message posted at one step is collected at the next. A checkpoint that is saved in between
// contains the metrics of the pending message. The resumed run posts them again, so it sees the
// same losses as an uninterrupted run.

#include "dist/control_message.h"
#include "train/job/meter.h"

namespace shoal::train {

class ControlExchange {
 public:
  explicit ControlExchange(const dist::Group& group) : channel_(group) {}  // Communicator::control

  // Posts this rank's message with the metrics of its step. Collect the previous message first.
  void post(dist::ControlMessage message, const Meter& step = {}) {
    message.images = static_cast<int64_t>(step.images);
    message.loss_sum = step.loss;
    pending_ = step;
    channel_.post(message);
  }

  // Returns the pending message, combined over all ranks; an empty one if nothing is pending. Waits
  // for the slowest rank.
  dist::ControlMessage collect() {
    pending_ = {};
    return channel_.collect();
  }

  // Collects the pending message and ignores it, but keeps pending(). Call before a run ends early.
  void discard() { channel_.collect(); }

  // This rank's metrics in the pending message.
  const Meter& pending() const { return pending_; }

 private:
  dist::ControlChannel channel_;
  Meter pending_;
};

}  // namespace shoal::train
