#pragma once
// Exchanges the control message once per step and remembers its metrics for checkpoints.
//
// A message posted at one step is collected at the next. A checkpoint that is saved in between
// contains the metrics of the pending message. The resumed run posts them again, so it sees the
// same losses as an uninterrupted run.

#include <optional>

#include "dist/control_message.h"
#include "train/job/meter.h"

namespace shoal::train {

class ControlExchange {
 public:
  explicit ControlExchange(const dist::Group& group) : channel_(group) {}  // Communicator::control

  // Posts this rank's message, with its metrics of step `step` (from 1) if it has any. Collect the
  // previous message first.
  void post(dist::ControlMessage message, const Meter& metrics = {}, int64_t step = 0) {
    message.images = static_cast<int64_t>(metrics.images);
    message.loss_sum = metrics.loss;
    message.top1 = static_cast<int64_t>(metrics.top1);
    message.top5 = static_cast<int64_t>(metrics.top5);
    message.skipped = static_cast<int64_t>(metrics.skipped);
    pending_ = metrics;
    pending_step_ = step;
    channel_.post(message);
  }

  // Returns the pending message, combined over all ranks; an empty one if nothing is pending. Waits
  // for the slowest rank. If that fails, the message's metrics stay pending().
  dist::ControlMessage collect() {
    const dist::ControlMessage message = channel_.collect();
    pending_ = {};
    return message;
  }

  // Collects the pending message and ignores it, but keeps pending(). Call it before a run ends
  // early. Waits for the slowest rank.
  void discard() { channel_.collect(); }

  // Returns the metrics in the pending messages of all ranks, if these have arrived. Does not wait.
  std::optional<Meter> arrived() const {
    const auto message = channel_.peek();
    return message ? std::optional(metrics_in(*message)) : std::nullopt;
  }

  static Meter metrics_in(const dist::ControlMessage& message) {
    return {message.loss_sum, static_cast<double>(message.top1), static_cast<double>(message.top5),
            static_cast<double>(message.images), static_cast<double>(message.skipped)};
  }

  // This rank's metrics in the pending message.
  const Meter& pending() const { return pending_; }
  int64_t pending_step() const { return pending_step_; }  // the step of these metrics

 private:
  dist::ControlChannel channel_;
  Meter pending_;
  int64_t pending_step_ = 0;
};

}  // namespace shoal::train
