#pragma once
// Measures the duration of this process's steps and how much of it is spent waiting for images and
// for other processes. Does not use LibTorch.

#include <algorithm>
#include <cstdint>

#include "base/now.h"
#include "train/report/report.h"

namespace shoal::train {

class Pace {
 public:
  void begin_epoch() {
    epoch_ = {};
    begin_interval();
  }
  // Adds a step. `seconds`: its duration; it includes `data_seconds` of waiting for images and
  // `exchange_seconds` of waiting for averaged gradients.
  void add(double seconds, double data_seconds, double exchange_seconds = 0) {
    last_seconds_ = seconds;
    last_data_seconds_ = data_seconds;
    ++interval_steps_;
    for (LoaderWait* sum : {&epoch_, &total_}) {
      sum->seconds += seconds;
      sum->data_seconds += data_seconds;
      sum->exchange_seconds += exchange_seconds;
      ++sum->steps;
      if (data_seconds > kWaited) ++sum->waited;
    }
  }
  // Returns the mean number of images per second since the last fill() or begin_epoch().
  double images_per_second(int64_t images_per_step) const {
    return static_cast<double>(interval_steps_ * images_per_step) /
           std::max(now() - interval_start_, 1e-9);
  }
  // Sets the durations in a report and begins the next interval for images_per_second(). Requires
  // an add() since begin_epoch().
  void fill(StepReport& r) {
    const auto steps = static_cast<double>(epoch_.steps);
    r.step_seconds = last_seconds_;
    r.step_seconds_average = epoch_.seconds / steps;
    r.data_seconds = last_data_seconds_;
    r.data_seconds_average = epoch_.data_seconds / steps;
    begin_interval();
  }
  const LoaderWait& total() const { return total_; }

 private:
  static constexpr double kWaited = 1e-3;  // seconds; LoaderWait::waited counts longer waits

  void begin_interval() {
    interval_start_ = now();
    interval_steps_ = 0;
  }

  LoaderWait epoch_, total_;  // sums over this epoch; sums since construction
  double last_seconds_ = 0, last_data_seconds_ = 0, interval_start_ = 0;
  int64_t interval_steps_ = 0;
};

}  // namespace shoal::train
