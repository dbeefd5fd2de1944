#include "data/isa.h"

namespace shoal::data {
namespace {

#if defined(__x86_64__)
bool has_avx2() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
}

bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi") &&
         __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512vnni");
}
#else
constexpr bool has_avx2() {
  return false;
}
constexpr bool has_avx512() {
  return false;
}
#endif

}  // namespace

bool supported(Isa isa) {
  return isa == Isa::portable || (isa == Isa::avx2 ? has_avx2() : has_avx512());
}

Isa best_isa() {
  static const Isa best = supported(Isa::avx512) ? Isa::avx512
                          : supported(Isa::avx2) ? Isa::avx2
                                                 : Isa::portable;
  return best;
}

}  // namespace shoal::data
