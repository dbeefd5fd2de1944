#pragma once
// The evaluation of a run: of the weights, then of the averaged ones.

#include "data/loader/loader.h"
#include "train/control/control_exchange.h"
#include "train/run/run_context.h"

namespace shoal::train {

struct RunEvaluation {
  Meter sum;  // over all ranks, of the last weights that were evaluated; the averaged ones count
  int stop_signal = 0;  // on any rank: the evaluation ended early
};

// Evaluates and reports. The ranks exchange their stop signals before each batch. No control message
// may be pending, and none is afterwards unless this throws: TooManyUnreadable on all ranks alike.
// Collective.
RunEvaluation evaluate_run(const RunContext& run, ControlExchange& control, data::Loader& loader);

}  // namespace shoal::train
