#pragma once
// Training steps of this process on synthetic images, for `shoal bench step` and `scaling`.

#include <string>

#include "app/options/options.h"
#include "train/trial/step_profile.h"

namespace shoal::app {

// Resolves `job` for one process as if the dataset were unlimited. Throws UserError if the run does
// not fit into memory.
train::ResolvedJob resolved_alone(train::Job job);

// Like resolved_alone(), for a process on another machine. Assumes that it has a GPU if --device
// is cuda. Does not check memory.
train::ResolvedJob resolved_elsewhere(const train::Job& job);

// Measures steps of training, or of evaluation if job.eval_only. `trace`: a file for the trace of
// one more step; empty: none. Shows its progress as a status line.
train::StepProfile measured_steps(const train::ResolvedJob& job, const BenchOptions& bench,
                                  const std::string& trace);

// "bf16" or "off", as --amp and --gradient-compression spell it.
const char* precision_name(train::Precision precision);

}  // namespace shoal::app
