#include "ops/cpu/isa.h"

namespace shoal::ops::cpu_kernels {

const Isa& best_isa() {
  static const Isa only = {"portable", portable::kActivationLoops, &portable::kDepthwiseLoops,
                           portable::kLoops};
  return only;
}

}  // namespace shoal::ops::cpu_kernels
