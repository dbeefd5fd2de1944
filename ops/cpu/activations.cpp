#include "ops/cpu/activations.h"

#include <algorithm>

#include "ops/cpu/isa.h"

namespace shoal::ops::cpu_kernels {

const ActivationLoops* activation_loops(Type type, int64_t channels) {
  if (channels % 8 != 0 || channels > kMaxChannels) return nullptr;
  const ActivationLoops* const loops = best_isa().activations;
  if (type == Type::f32) return &loops[0];
  return type == Type::bf16 ? &loops[1] : nullptr;
}

int64_t bytes_per_element(Type type) {
  return type == Type::f32 ? 4 : 2;
}

bool worth_streaming(Type type, int64_t elements, const void* a, const void* b) {
  const int64_t bytes = elements * bytes_per_element(type);
  const auto aligned = [](const void* p) { return reinterpret_cast<uintptr_t>(p) % 32 == 0; };
  return exceeds_caches(bytes) && aligned(a) && aligned(b);
}

Share share_of(int64_t rows, int thread, int threads) {
  const int64_t length = ((rows + threads - 1) / threads + 7) / 8 * 8;
  const int64_t begin = std::min(rows, thread * length);
  return {begin, std::min(rows, begin + length)};
}

bool worth_threads(int64_t elements) {
  return elements > (1 << 14);
}

}  // namespace shoal::ops::cpu_kernels
