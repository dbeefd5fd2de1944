#pragma once
// The time that a run may train for (--time-budget): how much of it is used, and which step is the
// last.
//
// Rank 0's clock decides. After each step, rank 0 sends its time in the control message, which the
// ranks read one step later. Between messages, every rank extrapolates from the last time received.
// All ranks use the same numbers, so they make the same decisions. Does not use LibTorch.

#include <cstdint>
#include <optional>

namespace shoal::train {

class TimeBudget {
 public:
  // `budget`: seconds; 0: no limit. `trained`: seconds that the run trained for before it was
  // resumed. `step_seconds`: the value of step_seconds() at that time. `step`: number of steps
  // already made. `now`: this process's clock in seconds.
  TimeBudget(double budget, double trained, double step_seconds, int64_t step, double now)
      : budget_(budget),
        start_(now - trained),
        step_seconds_(step_seconds),
        known_step_(step),
        known_(trained) {}

  // Returns the seconds that the run has trained for, by this process's clock.
  double trained(double now) const { return now - start_; }
  // Returns the moving average of the step duration in seconds. The same on all ranks.
  double step_seconds() const { return step_seconds_; }

  // Records that the run had trained for `trained` seconds, by rank 0's clock, at the end of step
  // `step` (from 1).
  void arrived(int64_t step, double trained);
  // Call it before the first step of an epoch, so that the time between epochs is not counted as
  // part of a step.
  void begin_epoch() { previous_.reset(); }

  // Returns the fraction of the budget, 0 to 1, that is used after `steps` steps. The same on all
  // ranks.
  double progress(int64_t steps) const;
  // Whether the budget is used up after `steps` steps. The same on all ranks.
  bool used_up(int64_t steps) const { return budget_ > 0 && progress(steps) >= 1; }

 private:
  double budget_, start_, step_seconds_;
  int64_t known_step_;              // the step of the last arrived()
  double known_;                    // seconds that the run had trained for after that step
  std::optional<double> previous_;  // `known_`, if arrived() was called since begin_epoch()
};

}  // namespace shoal::train
