#include "ops/cpu/activations.h"

#include <algorithm>

#include "ops/cpu/kernels.h"

namespace shoal::ops::cpu_kernels {

namespace {

bool has_avx2() {
#ifdef SHOAL_X86
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
  return false;
#endif
}

const ActivationLoops* best() {
#ifdef SHOAL_X86
  if (has_avx2()) return avx2::kActivationLoops;
#endif
  return portable::kActivationLoops;
}

}  // namespace

const char* activation_instruction_set() {
  return has_avx2() ? "avx2" : "portable";
}

const ActivationLoops* activation_loops(Type type, int64_t channels) {
  static const ActivationLoops* const loops = best();
  if (channels % 8 != 0 || channels > kMaxChannels) return nullptr;
  if (type == Type::f32) return &loops[0];
  return type == Type::bf16 ? &loops[1] : nullptr;
}

bool worth_streaming(Type type, int64_t elements, const void* a, const void* b) {
  const int64_t bytes = elements * (type == Type::f32 ? 4 : 2);
  const auto aligned = [](const void* p) { return reinterpret_cast<uintptr_t>(p) % 32 == 0; };
  return bytes >= kStreamBytes && aligned(a) && aligned(b);
}

Share share_of(int64_t rows, int thread, int threads) {
  const int64_t length = ((rows + threads - 1) / threads + 7) / 8 * 8;
  const int64_t begin = std::min(rows, thread * length);
  return {begin, std::min(rows, begin + length)};
}

}  // namespace shoal::ops::cpu_kernels
