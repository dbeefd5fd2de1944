#pragma once
// Eight floats in GCC's vector types, which the compiler splits where registers are shorter. For
// the loops that are compiled once per instruction set, each in a namespace of its own
// (SHOAL_LOOPS), so everything here has internal linkage.

#if defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
#endif

#include <cstdint>

namespace shoal::ops::cpu_kernels::SHOAL_LOOPS {
namespace {

constexpr int64_t kLanes = 8;
typedef float Vec __attribute__((vector_size(32)));

inline Vec load(const float* p) {
  Vec v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}

inline void store(float* p, Vec v) {
  __builtin_memcpy(p, &v, sizeof v);
}

// a * b + c, with one rounding where the processor has an instruction for it: loops that sum
// products are a third faster. Said here, not left to the compiler's contraction, which is off.
#if defined(__AVX2__) && defined(__FMA__)
inline Vec multiply_add(Vec a, Vec b, Vec c) {
  return (Vec)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
}
#else
inline Vec multiply_add(Vec a, Vec b, Vec c) {
  return a * b + c;
}
#endif

}  // namespace
}  // namespace shoal::ops::cpu_kernels::SHOAL_LOOPS
