#include "base/processor.h"

namespace shoal {
namespace {

#if defined(__x86_64__)
Processor examine() {
  __builtin_cpu_init();
  Processor found{};
  found.avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
               __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  found.avx512 = found.avx2 && __builtin_cpu_supports("avx512f") &&
                 __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                 __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2") &&
                 __builtin_cpu_supports("avx512vnni");
  found.avx512_bf16 = found.avx512 && __builtin_cpu_supports("avx512bf16");
  return found;
}
#else
Processor examine() {
  return {};
}
#endif

Processor& current() {
  static Processor found = examine();
  return found;
}

}  // namespace

const Processor& processor() {
  return current();
}

void hold_to_avx2() {
  current().avx512 = current().avx512_bf16 = false;
}

void hold_to_portable() {
  current() = {};
}

}  // namespace shoal
