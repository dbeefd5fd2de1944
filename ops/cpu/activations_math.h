#pragma once
// Vector arithmetic for the loops over activations: bf16, non-temporal stores, the exponential and
// the activations. Compiled once per instruction set, in a namespace of its own (SHOAL_LOOPS) and
// with internal linkage, so the linker keeps the copies apart.

#ifdef __SSE2__
#include <immintrin.h>
#endif

#include <cstdint>

#include "ops/cpu/eight_floats.h"
#include "ops/ops.h"

namespace shoal::ops::cpu_kernels::SHOAL_LOOPS {
namespace {

typedef int32_t IntVec __attribute__((vector_size(32)));
typedef uint32_t BitVec __attribute__((vector_size(32)));
typedef uint16_t HalfVec __attribute__((vector_size(16)));

inline Vec load(const uint16_t* p) {  // bf16
  HalfVec h;
  __builtin_memcpy(&h, p, sizeof h);
  return (Vec)(__builtin_convertvector(h, BitVec) << 16);
}

inline void store(uint16_t* p, Vec v) {  // bf16, rounded to nearest, ties to even
  const BitVec bits = (BitVec)v;
  const BitVec rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  const BitVec quiet = (bits >> 16) | 0x40;
  const HalfVec h = __builtin_convertvector(v == v ? rounded : quiet, HalfVec);
  __builtin_memcpy(p, &h, sizeof h);
}

// Non-temporal stores. `p` is aligned to 8 elements. Call finish_streaming() after the last one.
inline void store_streaming(float* p, Vec v) {
#if defined(__AVX__)
  _mm256_stream_ps(p, (__m256)v);
#elif defined(__SSE2__)
  __m128 halves[2];
  __builtin_memcpy(halves, &v, sizeof v);
  _mm_stream_ps(p, halves[0]);
  _mm_stream_ps(p + 4, halves[1]);
#else
  store(p, v);
#endif
}

inline void store_streaming(uint16_t* p, Vec v) {
#if defined(__SSE2__)
  uint16_t h[kLanes];
  store(h, v);
  __m128i packed;
  __builtin_memcpy(&packed, h, sizeof packed);
  _mm_stream_si128(reinterpret_cast<__m128i*>(p), packed);
#else
  store(p, v);
#endif
}

// Makes the non-temporal stores visible to other threads before any later store.
inline void finish_streaming() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

template <bool streaming, class S>
inline void put(S* p, Vec v) {
  if (streaming) {
    store_streaming(p, v);
  } else {
    store(p, v);
  }
}

inline Vec fill(float x) {
  return Vec{x, x, x, x, x, x, x, x};
}

// Functions that differ between instruction sets. at_most() and at_least() return NaN for NaN:
// _mm256_min_ps and _mm256_max_ps return their second operand if one of the two is NaN.
#if defined(__AVX2__) && defined(__FMA__)
inline Vec at_most(Vec v, float limit) {
  return (Vec)_mm256_min_ps(_mm256_set1_ps(limit), (__m256)v);
}
inline Vec at_least(Vec v, float limit) {
  return (Vec)_mm256_max_ps(_mm256_set1_ps(limit), (__m256)v);
}
inline Vec reciprocal(Vec v) {  // 12-bit approximation, then one Newton step
  const Vec guess = (Vec)_mm256_rcp_ps((__m256)v);
  return multiply_add(guess, multiply_add(-v, guess, fill(1)), guess);
}
#else
inline Vec at_most(Vec v, float limit) {
  return v > limit ? fill(limit) : v;
}
inline Vec at_least(Vec v, float limit) {
  return v < limit ? fill(limit) : v;
}
inline Vec reciprocal(Vec v) {
  return 1.0f / v;
}
#endif

// Returns exp(-z) = 2^n exp(-r) for |z| <= 87 with a relative error of 8e-8, where z = -n ln 2 + r
// and |r| <= ln 2 / 2. Approximates exp(-r) by 1 - r + r² q(r) with a minimax polynomial q.
inline Vec exponential_of_minus(Vec z) {
  const float magic = 12582912;  // 1.5 * 2^23: adding it moves the nearest integer to the low bits
  const Vec shifted = multiply_add(z, fill(-1.44269504088896341f), fill(magic));
  const Vec n = shifted - magic;
  const Vec r = multiply_add(n, fill(-2.12194440e-4f), multiply_add(n, fill(0.693359375f), z));
  // Estrin's scheme has shorter dependency chains than Horner's.
  const Vec r2 = r * r;
  const Vec low = multiply_add(r, fill(-0.1666651964187622f), fill(0.4999999403953552f));
  const Vec middle = multiply_add(r, fill(-0.00836885068565607f), fill(0.041668400168418884f));
  const Vec q = multiply_add(multiply_add(r2, fill(0.0013814320554956794f), middle), r2, low);
  const Vec p = multiply_add(q, r2, 1.0f - r);
  return (Vec)((IntVec)p + ((IntVec)shifted << 23));
}

struct Sigmoid {
  Vec e;  // exp(-z)
  Vec s;  // 1 / (1 + e); to get 1 - s without cancellation, compute e * s
};

inline Sigmoid sigmoid(Vec z) {
  const Vec e = exponential_of_minus(at_least(at_most(z, 87.0f), -87.0f));
  return {e, reciprocal(1.0f + e)};
}

template <Activation activation>
inline Vec activate(Vec z) {
  if (activation == Activation::silu) return z * sigmoid(z).s;
  if (activation == Activation::relu) return z <= 0.0f ? fill(0) : z;  // NaN stays NaN
  if (activation == Activation::relu6) return z <= 0.0f ? fill(0) : z >= 6.0f ? fill(6) : z;
  if (activation == Activation::hard_swish)
    return z <= -3.0f ? fill(0) : z >= 3.0f ? z : z * multiply_add(z, fill(1 / 6.0f), fill(0.5f));
  return z;
}

// Returns dy * activation'(z).
template <Activation activation>
inline Vec chain(Vec z, Vec dy) {
  if (activation == Activation::silu) {
    const Sigmoid g = sigmoid(z);
    return dy * multiply_add(z * g.s * g.e, g.s, g.s);  // s + z s (1 - s)
  }
  if (activation == Activation::relu) return z <= 0.0f ? fill(0) : dy;
  if (activation == Activation::relu6) return z <= 0.0f ? fill(0) : z >= 6.0f ? fill(0) : dy;
  if (activation == Activation::hard_swish) {
    const Vec slope = multiply_add(z, fill(1 / 3.0f), fill(0.5f));
    return z <= -3.0f ? fill(0) : z >= 3.0f ? dy : dy * slope;
  }
  return dy;
}

}  // namespace
}  // namespace shoal::ops::cpu_kernels::SHOAL_LOOPS
