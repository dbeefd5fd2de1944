#pragma once
// Detects unusual losses (a spike, a drop, a stall) and changes of speed, by comparison with
// running medians. Noise and slow changes cause no events. Not thread-safe. Does not use LibTorch.

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

namespace shoal::train {

struct LossEvent {
  const char* name;  // "loss_spike", "loss_drop" or "loss_stall"
  // Spike, drop: the step's loss and the running median. Stall: `loss` is the lowest 100-step
  // median of the last 500 steps, `median` the lowest of the 500 steps before.
  double loss, median;
};

class LossWatch {
 public:
  // Let m be the median of the last 64 ordinary losses. A loss is unusual if it is above ratio * m
  // or below m / ratio. It must also differ from m by more than 0.25 * unit and by more than six
  // standard deviations (estimated from the median absolute deviation). All other losses are
  // ordinary. With fewer than 16 earlier losses, no loss is unusual. `ratio` must be above 1.
  // `unit`: scale of the loss, 1 for cross-entropy.
  explicit LossWatch(double ratio, double unit = 1) : ratio_(ratio), unit_(unit) {}

  // Adds the mean loss of the next step, which must be finite. The first of consecutive unusual
  // losses is an event; after 64 of them, the new level counts as ordinary. A stall is an event,
  // too. It means that the lowest 100-step median of the last 500 ordinary steps is above 99.9 % of
  // the lowest one of the 500 ordinary steps before.
  std::optional<LossEvent> add(double loss);
  // Makes the next unusual loss an event even if the previous one was unusual too.
  void rearm() { unusual_ = 0; }

  // Returns the complete state as text, for a checkpoint.
  std::string state() const;
  void restore(const std::string& state);

 private:
  std::optional<LossEvent> add_to_block(double loss);

  double ratio_, unit_;
  std::deque<double> recent_;  // ordinary losses
  std::deque<double> block_;   // ordinary losses of the current, incomplete block of 100
  std::deque<double> blocks_;  // medians of the last complete blocks
  int64_t unusual_ = 0;        // unusual losses in a row
};

struct SpeedEvent {
  const char* name;        // "slower" or "faster"
  double seconds, median;  // median step times: of the last 16 steps; of the steps before them
};

class SpeedWatch {
 public:
  // Adds the duration of the next step in seconds. Every 16 steps, compares the median of these 16
  // steps with the median of the 48 to 128 steps before. Returns an event if the two differ by a
  // factor of at least 1.5. Later steps are then compared with the new speed. Ignores the first 8
  // steps.
  std::optional<SpeedEvent> add(double seconds);

 private:
  std::deque<double> recent_;
  int64_t steps_ = 0;
};

}  // namespace shoal::train
