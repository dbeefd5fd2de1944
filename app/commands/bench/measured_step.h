#pragma once
// Training steps of this process on synthetic images, for `shoal bench step` and `scaling`.

#include <string>

#include "app/options/options.h"
#include "train/trial/step_profile.h"

namespace shoal::app {

// Resolves `job` for one process with practically unlimited images. Throws UserError if
// the run does not fit into memory.
train::ResolvedJob resolved_alone(train::Job job);

// Like resolved_alone(), for a process on another machine: with --device cuda, it has a GPU. Does
// not check memory.
train::ResolvedJob resolved_elsewhere(const train::Job& job);

// Measures steps of training, or of evaluation if job.eval_only. `trace`: a file for the trace of
// one more step; empty: none. Shows its progress as a status line.
train::StepProfile measured_steps(const train::ResolvedJob& job, const BenchOptions& bench,
                                  const std::string& trace);

}  // namespace shoal::app
