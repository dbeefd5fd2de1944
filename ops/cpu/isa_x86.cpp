#include "base/processor.h"
#include "ops/cpu/isa.h"

namespace shoal::ops::cpu_kernels {
const Isa& best_isa() {
  static const Isa best =
      processor().avx2 ? Isa{"avx2", avx2::kActivationLoops, &avx2::kDepthwiseLoops, avx2::kLoops}
                       : Isa{"portable", portable::kActivationLoops, &portable::kDepthwiseLoops,
                             portable::kLoops};
  return best;
}

}  // namespace shoal::ops::cpu_kernels
