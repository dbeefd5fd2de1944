#pragma once
// Decides what a run does after steps whose loss or gradient was not finite.

#include "train/run/run_checkpoints.h"

namespace shoal::train {

// If the step was not finite, reports and counts it, and protects the newest earlier checkpoint
// from pruning. After --non-finite-limit such steps in a row, saves and throws std::runtime_error.
// Call it after every step. Collective.
void check_finite(const RunContext& run, RunCheckpoints& checkpoints, const StepResult& step);

// Throws if the run's last steps were not finite, unless a finite evaluation followed. A non-finite
// evaluation after finite steps is accepted: batch norm statistics are inaccurate after few steps.
void require_finite_end(const RunContext& run, const Meter& last_evaluation);

}  // namespace shoal::train
