#include "base/processor.h"

namespace shoal {
namespace {

#if defined(__x86_64__)
Processor examine() {
  __builtin_cpu_init();
  Processor found{};
  found.sse42 = __builtin_cpu_supports("sse4.2");
  found.avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
               __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi") &&
               __builtin_cpu_supports("bmi2");
  found.avx512 = found.avx2 && __builtin_cpu_supports("avx512f") &&
                 __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                 __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2") &&
                 __builtin_cpu_supports("avx512vnni");
  return found;
}
#else
Processor examine() {
  return {};
}
#endif

}  // namespace

const Processor& processor() {
  static const Processor found = examine();
  return found;
}

}  // namespace shoal
