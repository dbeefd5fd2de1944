#include "ops/cpu/isa.h"

namespace shoal::ops::cpu_kernels {
namespace {

// What the files of the avx2 loops are compiled with.
bool has_avx2() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("f16c");
}

}  // namespace

const Isa& best_isa() {
  static const Isa best =
      has_avx2() ? Isa{"avx2", avx2::kActivationLoops, &avx2::kDepthwiseLoops, avx2::kLoops}
                 : Isa{"portable", portable::kActivationLoops, &portable::kDepthwiseLoops,
                       portable::kLoops};
  return best;
}

}  // namespace shoal::ops::cpu_kernels
