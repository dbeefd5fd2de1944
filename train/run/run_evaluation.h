#pragma once
// Evaluates the weights of a run and then the averaged weights, if there are any.

#include "data/loader/loader.h"
#include "dist/control_message.h"
#include "train/run/run_context.h"

namespace shoal::train {

struct RunEvaluation {
  // Metrics over all ranks, of the averaged weights if they were evaluated, otherwise of the
  // weights.
  Meter sum;
  int stop_signal = 0;  // the signal that ended the evaluation, from any rank; 0: none
};

// Evaluates the weights, then the averaged weights if there are any, and reports each result. The
// ranks exchange their stop signals before each batch, so no control message may be pending before
// the call. None is pending when the call returns. Throws EvaluationFailed on all ranks.
// Collective.
RunEvaluation evaluate_run(const RunContext& run, dist::ControlChannel& control,
                           data::Loader& loader);

}  // namespace shoal::train
