#include "train/job/optimizer_options.h"

namespace shoal::train {

double resolved_eps(const OptimizerOptions& options) {
  return options.eps.value_or(ops::info_of(options.kind).eps);
}

int state_buffers(const OptimizerOptions& options) {
  int count = 0;
  while (count < ops::kMaxOptimizerStates &&
         ops::info_of(options.kind).has_state(count, options.momentum))
    ++count;
  return count;
}

}  // namespace shoal::train
