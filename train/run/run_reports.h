#pragma once
// Creates the reports of a run's steps and of its end.

#include <string>

#include "train/control/recovery.h"
#include "train/run/pace.h"
#include "train/run/run_context.h"

namespace shoal::train {

class RunReports {
 public:
  // All references must outlive this object.
  RunReports(const RunContext& run, Recovery& recovery);

  void begin_epoch();
  // Reports a step. Call it after Position::step was incremented. Reports progress for every step.
  // Reports metrics every --print-freq steps, for the first step of an epoch, for its last step if
  // its length is known, and for the last step of the run. `seconds`: duration of the step.
  void step(const StepResult& step, double seconds);
  // Logs why a resumed run has nothing left to train.
  void nothing_left() const;
  // Reports that --patience ends the run.
  void early_stop() const;
  // Returns the report of the run's end, without `reason`, `exported` and `utilization`. `outcome`:
  // as in RunEnd.
  RunEnd end(const std::string& outcome) const;
  // Reports a run that ends with an error.
  void fail(const std::string& reason) const noexcept;

 private:
  const RunContext& run_;
  Recovery& recovery_;
  Pace pace_;
  double start_;  // time at which the run began, from now()
};

}  // namespace shoal::train
