#pragma once
// How long a process's updates take, and how much of that is waiting for images. Torch-free.

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "train/report/report.h"

namespace shoal::train {

inline double now() {  // seconds
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

class Pace {
 public:
  void begin_epoch() {
    epoch_ = {};
    begin_stretch();
  }
  // An update: all of it, and what of that was waiting.
  void add(double seconds, double data_seconds) {
    last_seconds_ = seconds;
    last_data_seconds_ = data_seconds;
    ++stretch_steps_;
    for (WaitReport* sum : {&epoch_, &whole_}) {
      sum->seconds += seconds;
      sum->data_seconds += data_seconds;
      ++sum->steps;
      if (data_seconds > kWaited) ++sum->waited;
    }
  }
  // Of the stretch since the last report, or since the epoch began in this process.
  double images_per_second(int64_t images_per_update) const {
    return static_cast<double>(stretch_steps_ * images_per_update) /
           std::max(now() - stretch_start_, 1e-9);
  }
  // Fills the times of a report, with which the stretch ends.
  void report(StepReport& r) {
    const auto steps = static_cast<double>(epoch_.steps);
    r.step_seconds = last_seconds_;
    r.step_seconds_average = epoch_.seconds / steps;
    r.data_seconds = last_data_seconds_;
    r.data_seconds_average = epoch_.data_seconds / steps;
    begin_stretch();
  }
  const WaitReport& whole() const { return whole_; }

 private:
  static constexpr double kWaited = 1e-3;  // seconds: an update that was kept waiting for images

  void begin_stretch() {
    stretch_start_ = now();
    stretch_steps_ = 0;
  }

  WaitReport epoch_, whole_;  // of the epoch in this process; since its start
  double last_seconds_ = 0, last_data_seconds_ = 0, stretch_start_ = 0;
  int64_t stretch_steps_ = 0;
};

}  // namespace shoal::train
