#pragma once
// Vectors of kLanes floats, for the kernels of ops/fused. A vector fills the widest register of the
// instruction set; padded() in kernels.h pads the kernels' tensors to whole vectors. (The loops of
// ops/cpu use ops/cpu/eight_floats.h.)
//
// Compiled once per instruction set, in a namespace of its own (SHOAL_LOOPS) and with internal
// linkage, so the linker keeps the copies apart. Apart from intrinsics, do not use inline functions
// or templates of other headers here; base/processor.h explains why.
//
// SHOAL_BF16: activations are bfloat16 in memory. SHOAL_DOT: operands of Pointwise and Dense matrix
// products are bfloat16, too.

#if defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
#endif

#include <cstdint>

#include "ops/ops.h"

namespace shoal::ops::fused::SHOAL_LOOPS {
namespace {

#if defined(__AVX512F__)
constexpr int64_t kLanes = 16;
#elif defined(__AVX2__) && defined(__FMA__)
constexpr int64_t kLanes = 8;
#else
constexpr int64_t kLanes = 4;
#endif
typedef float Vec __attribute__((vector_size(4 * kLanes)));
typedef int32_t Ints __attribute__((vector_size(4 * kLanes)));

inline Vec load(const float* p) {
  Vec v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}

inline void store(float* p, Vec v) {
  __builtin_memcpy(p, &v, sizeof v);
}

// An element of an activation in memory: a float, or its upper half (bfloat16).
#if defined(SHOAL_BF16)
struct Cell {
  uint16_t bits;
};
typedef uint16_t Halves __attribute__((vector_size(2 * kLanes)));

inline Vec load(const Cell* p) {
  Halves halves;
  __builtin_memcpy(&halves, p, sizeof halves);
  return (Vec)(__builtin_convertvector(halves, Ints) << 16);
}

// Rounds to nearest, ties to even. A NaN stays a NaN.
inline Halves upper_halves(Vec v) {
#if defined(__AVX512BF16__)
  return (Halves)_mm512_cvtneps_pbh((__m512)v);
#else
  const Ints bits = (Ints)v, rounded = bits + 0x7fff + ((bits >> 16) & 1);
  return __builtin_convertvector((v == v ? rounded : bits | 0x400000) >> 16, Halves);
#endif
}

inline void store(Cell* p, Vec v) {
  const Halves halves = upper_halves(v);
  __builtin_memcpy(p, &halves, sizeof halves);
}
#else
typedef float Cell;
#endif

inline Cell* cells(void* p) {
  return static_cast<Cell*>(p);
}
inline const Cell* cells(const void* p) {
  return static_cast<const Cell*>(p);
}

// Returns one element as a float.
inline float number(Cell cell) {
#if defined(SHOAL_BF16)
  const uint32_t bits = (uint32_t)cell.bits << 16;
  float value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
#else
  return cell;
#endif
}

// An element of a tile (operand_loops.h) that a matrix product reads.
#if defined(SHOAL_BF16) && !defined(SHOAL_DOT)
typedef float TileCell;
#else
typedef Cell TileCell;
#endif

inline Vec splat(float value) {
  return value - Vec{};  // x - 0 needs no instruction; x + 0 does, because -0 + 0 is 0, not -0
}

inline void add_to(float* p, Vec v) {
  store(p, load(p) + v);
}

// Stores with a non-temporal instruction, if there is one. `p` must be aligned to the number of
// bytes written. Call finish_streams() after the last stream().
inline void stream(float* p, Vec v) {
#if defined(__AVX512F__)
  _mm512_stream_ps(p, (__m512)v);
#elif defined(__AVX2__) && defined(__FMA__)
  _mm256_stream_ps(p, (__m256)v);
#else
  store(p, v);
#endif
}

#if defined(SHOAL_BF16)
inline void stream(Cell* p, Vec v) {
#if defined(__AVX512F__)
  _mm256_stream_si256((__m256i*)p, (__m256i)upper_halves(v));
#elif defined(__AVX2__) && defined(__FMA__)
  _mm_stream_si128((__m128i*)p, (__m128i)upper_halves(v));
#else
  store(p, v);
#endif
}
#endif

// Makes the values written by stream() visible to other threads before any later store.
inline void finish_streams() {
#if defined(__AVX2__) && defined(__FMA__)
  _mm_sfence();
#endif
}

// Returns a * b + c, rounded only once if the instruction set has FMA.
inline Vec multiply_add(Vec a, Vec b, Vec c) {
#if defined(__AVX512F__)
  return (Vec)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__AVX2__) && defined(__FMA__)
  return (Vec)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#else
  return a * b + c;
#endif
}

// Returns x clamped to [-limit, limit]. A NaN stays a NaN.
inline Vec limited(Vec x, float limit) {
#if defined(__AVX512F__)
  return (Vec)_mm512_max_ps(_mm512_set1_ps(-limit),
                            _mm512_min_ps(_mm512_set1_ps(limit), (__m512)x));
#elif defined(__AVX2__) && defined(__FMA__)
  return (Vec)_mm256_max_ps(_mm256_set1_ps(-limit),
                            _mm256_min_ps(_mm256_set1_ps(limit), (__m256)x));
#else
  return x > limit ? splat(limit) : x < -limit ? splat(-limit) : x;
#endif
}

inline float sum_of(Vec v) {
  float total = 0;
  for (int64_t i = 0; i < kLanes; ++i) total += v[i];
  return total;
}

// Returns 1 / x with a relative error of about 2 float epsilons; SHOAL_BF16 with AVX-512: 2^-14.
inline Vec reciprocal(Vec x) {
#if defined(__AVX512F__) && defined(SHOAL_BF16)
  return (Vec)_mm512_rcp14_ps((__m512)x);
#elif defined(__AVX512F__)
  const Vec r = (Vec)_mm512_rcp14_ps((__m512)x);
  return r * (Vec)_mm512_fnmadd_ps((__m512)x, (__m512)r, _mm512_set1_ps(2));
#else
  return splat(1) / x;  // AVX2's estimate plus a Newton step would be 1.3e-7 too small (relative)
#endif
}

// Returns 1 / (1 + exp(-z)) with a relative error of about 2 float epsilons near z = 0 and at most
// 2^-17 for z > -83; SHOAL_BF16: 2^-12.
// A NaN stays a NaN.
inline Vec sigmoid(Vec z) {
  constexpr float kLimit = 120;  // exp2(t) stays finite
  const Vec t = limited(z * splat(-1.44269504f), kLimit);
  // t = n + f with an integer n and |f| <= 1/2. A minimax polynomial approximates exp2(f). Adding
  // kRound moves n into the lowest bits.
  constexpr float kRound = 12582912;  // 1.5 * 2^23
  const Vec moved = t + kRound, f = t - (moved - kRound);
#if defined(SHOAL_BF16)
  constexpr float kExp2[] = {2.42211010e-1f, 6.93282931e-1f, 1};
  Vec p = splat(5.50089514e-2f);
#else
  constexpr float kExp2[] = {9.67151253e-3f, 5.55073369e-2f, 2.40222421e-1f, 6.93146978e-1f, 1};
  Vec p = splat(1.32647459e-3f);
#endif
  for (const float c : kExp2) p = multiply_add(p, f, splat(c));
  const Vec power = (Vec)((Ints)p + ((Ints)moved << 23));  // 2^n p: adds n to p's exponent
  return reciprocal(splat(1) + power);
}

// Returns relu6(z + 3) / 6. A NaN stays a NaN.
inline Vec hard_sigmoid(Vec z) {
  return z < -3 ? splat(0) : z > 3 ? splat(1) : multiply_add(z, splat(1 / 6.0f), splat(0.5f));
}

// An activation and its derivative at z.
struct Activated {
  Vec value, slope;
};

template <Activation activation>
inline Vec activate(Vec z) {
  if constexpr (activation == Activation::silu) return z * sigmoid(z);
  if constexpr (activation == Activation::relu) return z < 0 ? splat(0) : z;
  if constexpr (activation == Activation::relu6) return z < 0 ? splat(0) : z > 6 ? splat(6) : z;
  if constexpr (activation == Activation::hard_swish) return z * hard_sigmoid(z);
  return z;
}

template <Activation activation>
inline Activated activate_both(Vec z) {
  if constexpr (activation == Activation::silu) {
    const Vec s = sigmoid(z), a = z * s;
    return {a, s * (splat(1) + z - a)};
  }
  const Vec value = activate<activation>(z), zero = splat(0), one = splat(1);
  if constexpr (activation == Activation::relu) return {value, z > 0 ? one : zero};
  if constexpr (activation == Activation::relu6)
    return {value, z > 0 ? (z < 6 ? one : zero) : zero};
  if constexpr (activation == Activation::hard_swish)
    return {value, z > -3 ? (z < 3 ? multiply_add(z, splat(1 / 3.0f), splat(0.5f)) : one) : zero};
  return {value, one};
}

inline int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

inline int64_t most(int64_t a, int64_t b) {
  return a > b ? a : b;
}

}  // namespace
}  // namespace shoal::ops::fused::SHOAL_LOOPS
