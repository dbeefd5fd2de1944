#pragma once
// Vectors of eight floats, for the loops of ops/cpu. These process tensors without padding, so the
// number of channels must be a multiple of 8 with every instruction set. If registers are narrower,
// the compiler splits the vectors. (The kernels of ops/fused use ops/fused/register_vectors.h.)
//
// Written with GCC's vector types. Compiled once per instruction set, in a namespace of its own
// (SHOAL_LOOPS) and with internal linkage, so the linker keeps the copies apart.

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

// Returns a * b + c. With FMA, rounds only once, and loops that sum products are a third faster.
// Uses FMA through the intrinsic, because -ffp-contract=off keeps the compiler from using it.
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
