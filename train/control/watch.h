#pragma once
// Detects unusual losses (a spike, a drop, a stall) and changes of speed. Compares with running
// medians, so noise and slow changes cause no events. Pure; not thread-safe. Torch-free.

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

namespace shoal::train {

struct LossEvent {
  const char* name;     // "loss_spike", "loss_drop" or "loss_stall"
  double loss, median;  // of a stall: lowest median of 100 steps, in the last 500 and before
};

class LossWatch {
 public:
  // A loss is unusual if it is above ratio × median or below median / ratio of the last 64 ordinary
  // losses (at least 16), and its distance from the median exceeds both 0.25 and six standard
  // deviations (estimated from the median absolute deviation). ratio > 1.
  explicit LossWatch(double ratio) : ratio_(ratio) {}

  // Adds the mean loss of the next step, finite. The first of consecutive unusual losses is an event;
  // after 64 of them the new level is ordinary. A stall is 1000 ordinary steps whose second half fell
  // less than 0.1 % below the first.
  std::optional<LossEvent> add(double loss);
  // Makes the next unusual loss an event even if the last one was unusual too.
  void rearm() { unusual_ = 0; }

  // The whole state as text, for a checkpoint.
  std::string state() const;
  void restore(const std::string& state);

 private:
  std::optional<LossEvent> add_to_block(double loss);

  double ratio_;
  std::deque<double> recent_;  // ordinary losses
  std::deque<double> block_;   // ordinary losses of the current block of 100 steps
  std::deque<double> blocks_;  // medians of whole blocks
  int64_t unusual_ = 0;        // unusual losses in a row
};

struct SpeedEvent {
  const char* name;        // "slower" or "faster"
  double seconds, median;  // median step time: of the last 16 steps, of those before
};

class SpeedWatch {
 public:
  // Adds the seconds of the next step. Returns an event when the median of 16 steps is more than 1.5
  // times that of the steps before (at least 48), or less by the same factor; the new speed is then
  // the ordinary one. Ignores the first 8 steps.
  std::optional<SpeedEvent> add(double seconds);

 private:
  std::deque<double> recent_;
  int64_t steps_ = 0;
};

}  // namespace shoal::train
