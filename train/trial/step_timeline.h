#pragma once
// Estimates when the gradients of a training step are complete, for dist::predict_step().

#include "dist/scaling.h"
#include "models/network.h"
#include "train/step/trainer.h"

namespace shoal::train {

// Returns the timeline of a step that takes `seconds`. `phases`: measured durations, used only for
// their proportions; null: backward takes two thirds of the step. `nccl`: whether the gradients are
// averaged over NCCL. Within backward, a layer's share of the time is estimated from its
// multiply-adds and the size of its output.
dist::StepTimeline step_timeline(const models::Network& network, double seconds,
                                 const StepSeconds* phases, bool nccl);

}  // namespace shoal::train
