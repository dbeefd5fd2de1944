// Loops over activations, written with GCC's vector types. Each instruction set includes this file
// once, in its own namespace (SHOAL_LOOPS), so everything here has internal linkage.
//
// All loops are memory-bound now that the exponential is cheap; each reads its rows once, in order.
// Column sums collect 64 rows in float before adding to double, so that half a million rows lose no
// more precision than a few rows would.

#ifdef __SSE2__
#include <immintrin.h>
#endif

#include <cstdint>
#include <cstring>

#include "ops/cpu/activations.h"
#include "ops/cpu/vectors.h"

namespace shoal::ops::cpu_kernels::SHOAL_LOOPS {
namespace {

constexpr int64_t kBlock = 64;  // rows summed in float

typedef int32_t IntVec __attribute__((vector_size(32)));
typedef uint32_t BitVec __attribute__((vector_size(32)));
typedef uint16_t HalfVec __attribute__((vector_size(16)));

inline Vec load(const uint16_t* p) {  // bf16
  HalfVec h;
  __builtin_memcpy(&h, p, sizeof h);
  return (Vec)(__builtin_convertvector(h, BitVec) << 16);
}

inline void store(uint16_t* p, Vec v) {  // bf16, to nearest, ties to even
  const BitVec bits = (BitVec)v;
  const BitVec rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  const BitVec quiet = (bits >> 16) | 0x40;
  const HalfVec h = __builtin_convertvector(v == v ? rounded : quiet, HalfVec);
  __builtin_memcpy(p, &h, sizeof h);
}

// Non-temporal store. `p` is aligned to the vector size.
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

// Differences between the instruction sets: clamping, where NaN stays NaN, and 1 / x.
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

// exp(-z) for |z| <= 87 with a relative error of 8e-8. Splits z = -n ln 2 + r with |r| <= ln 2 / 2.
// exp(-r) is the polynomial 1 - r + r² q(r), where q is the minimax fit found with Lawson's
// iteration.
inline Vec exponential_of_minus(Vec z) {
  const float magic = 12582912;  // 1.5 * 2^23: adding it leaves the nearest integer in the low bits
  const Vec shifted = multiply_add(z, fill(-1.44269504088896341f), fill(magic));
  const Vec n = shifted - magic;
  const Vec r = multiply_add(n, fill(-2.12194440e-4f), multiply_add(n, fill(0.693359375f), z));
  // Estrin's scheme: shorter dependency chains than Horner's.
  const Vec r2 = r * r;
  const Vec low = multiply_add(r, fill(-0.1666651964187622f), fill(0.4999999403953552f));
  const Vec middle = multiply_add(r, fill(-0.00836885068565607f), fill(0.041668400168418884f));
  const Vec q = multiply_add(multiply_add(r2, fill(0.0013814320554956794f), middle), r2, low);
  const Vec p = multiply_add(q, r2, 1.0f - r);
  return (Vec)((IntVec)p + ((IntVec)shifted << 23));
}

struct Sigmoid {
  Vec e;  // exp(-z)
  Vec s;  // 1 / (1 + e); e * s is 1 - s without its cancellation
};

inline Sigmoid sigmoid(Vec z) {
  const Vec e = exponential_of_minus(at_least(at_most(z, 87.0f), -87.0f));
  return {e, reciprocal(1.0f + e)};
}

template <Activation activation>
inline Vec activate(Vec z) {
  if (activation == Activation::silu) return z * sigmoid(z).s;
  if (activation == Activation::relu) return z <= 0.0f ? fill(0) : z;  // NaN stays NaN
  return z;
}

template <Activation activation>
inline Vec chain(Vec z, Vec dy) {
  if (activation == Activation::silu) {
    const Sigmoid g = sigmoid(z);
    return dy * multiply_add(z * g.s * g.e, g.s, g.s);  // s + z s (1 - s)
  }
  if (activation == Activation::relu) return z <= 0.0f ? fill(0) : dy;
  return dy;
}

// Calls f(element offset, channel) for each vector, in memory order.
template <class F>
inline void for_each_vector(int64_t rows, int64_t channels, F f) {
  for (int64_t r = 0, i = 0; r < rows; ++r) {
    for (int64_t c = 0; c < channels; c += kLanes, i += kLanes) f(i, c);
  }
}

template <int kinds>
inline void flush(int64_t channels, float* part, double* sums) {
  for (int64_t i = 0; i < kinds * channels; ++i) {
    sums[i] += part[i];
    part[i] = 0;
  }
}

// sums[k * channels + c] += sum over the rows of the k-th value of f(offset, channel, values).
// Works strictly in memory order. Summing several rows in registers first does less work, but reads
// from several places at once and runs at half the speed.
template <int kinds, class F>
inline void column_sums(int64_t rows, int64_t channels, double* sums, F f) {
  alignas(64) float part[kinds * kMaxChannels];
  __builtin_memset(part, 0, sizeof(float) * kinds * channels);
  for (int64_t r = 0, i = 0; r < rows; ++r) {
    for (int64_t c = 0; c < channels; c += kLanes, i += kLanes) {
      Vec values[kinds];
      f(i, c, values);
      for (int k = 0; k < kinds; ++k) {
        float* total = part + k * channels + c;
        store(total, load(total) + values[k]);
      }
    }
    if ((r + 1) % kBlock == 0) flush<kinds>(channels, part, sums);
  }
  flush<kinds>(channels, part, sums);
}

template <class S>
void norm_sums(const void* x_any, int64_t rows, int64_t channels, const float* origin,
               double* sums) {
  const S* x = static_cast<const S*>(x_any);
  column_sums<2>(rows, channels, sums, [=](int64_t i, int64_t c, Vec* values) {
    values[0] = load(x + i) - load(origin + c);
    values[1] = values[0] * values[0];
  });
}

template <class S, Activation activation, bool residual>
inline Vec activation_input(const NormRows& op, int64_t i, int64_t c, Vec x) {
  const Vec z = multiply_add(x, load(op.scale + c), load(op.shift + c));
  return residual ? z + load(static_cast<const S*>(op.residual) + i) : z;
}

// The row loops of one operation, for one activation with or without residual.
template <class S, Activation activation, bool residual>
struct Norm {
  template <bool streaming>
  static void apply(const NormRows& op) {
    const S* x = static_cast<const S*>(op.x);
    S* y = static_cast<S*>(op.y);
    for_each_vector(op.rows, op.channels, [=](int64_t i, int64_t c) {
      put<streaming>(y + i, activate<activation>(
                                activation_input<S, activation, residual>(op, i, c, load(x + i))));
    });
  }

  static void backward_sums(const NormRows& op, double* sums) {
    const S* x = static_cast<const S*>(op.x);
    const S* dy = static_cast<const S*>(op.dy);
    column_sums<2>(op.rows, op.channels, sums, [=](int64_t i, int64_t c, Vec* values) {
      const Vec v = load(x + i);
      values[0] =
          chain<activation>(activation_input<S, activation, residual>(op, i, c, v), load(dy + i));
      values[1] = values[0] * (v - load(op.mean + c));
    });
  }

  template <bool streaming, bool d_residual>
  static void backward_apply(const NormRows& op) {
    const S* x = static_cast<const S*>(op.x);
    const S* dy = static_cast<const S*>(op.dy);
    S* dx = static_cast<S*>(op.dx);
    S* dr = static_cast<S*>(op.d_residual);
    for_each_vector(op.rows, op.channels, [=](int64_t i, int64_t c) {
      const Vec v = load(x + i);
      const Vec dz =
          chain<activation>(activation_input<S, activation, residual>(op, i, c, v), load(dy + i));
      if (d_residual) put<streaming>(dr + i, dz);
      put<streaming>(dx + i,
                     multiply_add(dz, load(op.scale + c),
                                  multiply_add(v, load(op.slope + c), load(op.offset + c))));
    });
  }
};

// Calls f with the Norm specialization of the operation.
template <class S, class F>
inline void choose(const NormRows& op, F f) {
  switch (op.activation) {
    case Activation::none:
      return op.residual ? f(Norm<S, Activation::none, true>{})
                         : f(Norm<S, Activation::none, false>{});
    case Activation::relu:
      return op.residual ? f(Norm<S, Activation::relu, true>{})
                         : f(Norm<S, Activation::relu, false>{});
    case Activation::silu:
      return op.residual ? f(Norm<S, Activation::silu, true>{})
                         : f(Norm<S, Activation::silu, false>{});
  }
}

template <class S>
void norm_apply(const NormRows& op) {
  choose<S>(op, [&](auto norm) {
    if (!op.stream) return norm.template apply<false>(op);
    norm.template apply<true>(op);
    finish_streaming();
  });
}

template <class S>
void norm_backward_sums(const NormRows& op, double* sums) {
  choose<S>(op, [&](auto norm) { norm.backward_sums(op, sums); });
}

template <class S>
void norm_backward_apply(const NormRows& op) {
  choose<S>(op, [&](auto norm) {
    if (op.stream) {
      op.d_residual ? norm.template backward_apply<true, true>(op)
                    : norm.template backward_apply<true, false>(op);
      finish_streaming();
    } else {
      op.d_residual ? norm.template backward_apply<false, true>(op)
                    : norm.template backward_apply<false, false>(op);
    }
  });
}

template <class S>
void gate_pool(const GateRows& op, double* sums) {
  const S* x = static_cast<const S*>(op.x);
  column_sums<1>(op.rows, op.channels, sums,
                 [=](int64_t i, int64_t, Vec* values) { values[0] = load(x + i); });
}

template <class S>
void gate_backward_sums(const GateRows& op, double* sums) {
  const S* x = static_cast<const S*>(op.x);
  const S* dy = static_cast<const S*>(op.dy);
  column_sums<1>(op.rows, op.channels, sums,
                 [=](int64_t i, int64_t, Vec* values) { values[0] = load(dy + i) * load(x + i); });
}

template <class S, bool streaming>
inline void gate_apply_rows(const GateRows& op) {
  const S* x = static_cast<const S*>(op.x);
  S* y = static_cast<S*>(op.y);
  for_each_vector(op.rows, op.channels, [=](int64_t i, int64_t c) {
    put<streaming>(y + i, load(x + i) * load(op.gate + c));
  });
}

template <class S>
void gate_apply(const GateRows& op) {
  if (!op.stream) return gate_apply_rows<S, false>(op);
  gate_apply_rows<S, true>(op);
  finish_streaming();
}

template <class S, bool streaming>
inline void gate_backward_rows(const GateRows& op) {
  const S* dy = static_cast<const S*>(op.dy);
  S* dx = static_cast<S*>(op.dx);
  for_each_vector(op.rows, op.channels, [=](int64_t i, int64_t c) {
    put<streaming>(dx + i, multiply_add(load(dy + i), load(op.gate + c), load(op.offset + c)));
  });
}

template <class S>
void gate_backward_apply(const GateRows& op) {
  if (!op.stream) return gate_backward_rows<S, false>(op);
  gate_backward_rows<S, true>(op);
  finish_streaming();
}

template <class S>
constexpr ActivationLoops loops() {
  return {norm_sums<S>, norm_apply<S>, norm_backward_sums<S>, norm_backward_apply<S>,
          gate_pool<S>, gate_apply<S>, gate_backward_sums<S>, gate_backward_apply<S>};
}

}  // namespace

extern const ActivationLoops kActivationLoops[2];
const ActivationLoops kActivationLoops[2] = {loops<float>(), loops<uint16_t>()};

}  // namespace shoal::ops::cpu_kernels::SHOAL_LOOPS
