#include "train/job/optimizer_options.h"

namespace shoal::train {

double resolved_eps(const OptimizerOptions& options) {
  return options.eps.value_or(options.kind == OptimizerOptions::Kind::rmsprop ? 1e-3 : 1e-8);
}

}  // namespace shoal::train
