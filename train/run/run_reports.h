#pragma once
// Fills in the reports of a run's steps and of its end.

#include <string>

#include "train/control/recovery.h"
#include "train/run/epoch_metrics.h"
#include "train/run/pace.h"
#include "train/run/run_context.h"

namespace shoal::train {

class RunReports {
 public:
  // All references must outlive it.
  RunReports(const RunContext& run, EpochMetrics& metrics, Recovery& recovery);

  void begin_epoch();
  // Reports the step that has just been counted in the position: progress always, metrics every
  // --print-freq steps and at both ends of the epoch. `seconds`: of the whole step. Collective.
  void step(const StepResult& step, double seconds);
  // A report of the run's end, without an exported model.
  RunEnd end(const std::string& outcome) const;

 private:
  const RunContext& run_;
  EpochMetrics& metrics_;
  Recovery& recovery_;
  Pace pace_;
  double start_;  // of the run; seconds, now()
};

}  // namespace shoal::train
