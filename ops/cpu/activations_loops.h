// The loops over activations in GCC's vector types: 8 lanes, which the compiler splits where
// registers are shorter. Included by one file per instruction set, each in a namespace of its own
// (SHOAL_LOOPS), so everything here has internal linkage.
//
// All loops are bound by memory once the exponential is cheap: each reads its rows once, in order.
// Column sums take eight rows at a time in registers, gather 64 rows in float and then go to
// double, so that half a million rows lose no more than a few of them would.

#ifdef __SSE2__
#include <immintrin.h>
#endif

#include <cstdint>
#include <cstring>

#include "ops/cpu/activations.h"

namespace shoal::ops::cpu_kernels::SHOAL_LOOPS {
namespace {

constexpr int64_t kLanes = 8;
constexpr int64_t kGroup = 8;   // rows summed in registers
constexpr int64_t kBlock = 64;  // rows summed in float

typedef float Vec __attribute__((vector_size(32)));
typedef int32_t IntVec __attribute__((vector_size(32)));
typedef uint32_t BitVec __attribute__((vector_size(32)));
typedef uint16_t HalfVec __attribute__((vector_size(16)));

inline Vec load(const float* p) {
  Vec v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}

inline void store(float* p, Vec v) {
  __builtin_memcpy(p, &v, sizeof v);
}

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

// Past the caches; p is aligned to the vector.
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

// exp(x) for -87 <= x <= 87, to 1e-7 relative: x = n ln 2 + r with |r| <= ln 2 / 2, and the
// polynomial of Cephes' expf for exp(r).
inline Vec exponential(Vec x) {
  const float magic = 12582912;  // 1.5 * 2^23: adding it leaves the nearest integer in the low bits
  const Vec shifted = x * 1.44269504088896341f + magic;
  const Vec n = shifted - magic;
  const Vec r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
  Vec p = r * 1.9875691500e-4f + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  return (Vec)((IntVec)p + ((IntVec)shifted << 23));
}

inline Vec sigmoid(Vec z) {
  Vec x = -z;
  x = x > 87.0f ? fill(87.0f) : x;
  x = x < -87.0f ? fill(-87.0f) : x;
  return 1.0f / (1.0f + exponential(x));
}

template <Activation activation>
inline Vec activate(Vec z) {
  if (activation == Activation::silu) return z * sigmoid(z);
  if (activation == Activation::relu)
    return z <= 0.0f ? fill(0) : z;  // not a number stays what it is
  return z;
}

template <Activation activation>
inline Vec chain(Vec z, Vec dy) {
  if (activation == Activation::silu) {
    const Vec s = sigmoid(z);
    return dy * (s * (1.0f + z * (1.0f - s)));
  }
  if (activation == Activation::relu) return z <= 0.0f ? fill(0) : dy;
  return dy;
}

// Calls f(offset of the element, channel) for every vector, in memory order.
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

// sums[k * channels + c] += Σ over rows of the k-th value of f(offset, channel, values).
template <int kinds, class F>
inline void column_sums(int64_t rows, int64_t channels, double* sums, F f) {
  alignas(64) float part[kinds * kMaxChannels];
  __builtin_memset(part, 0, sizeof(float) * kinds * channels);
  for (int64_t r = 0; r < rows; r += kGroup) {
    const int64_t group = rows - r < kGroup ? rows - r : kGroup;
    for (int64_t c = 0; c < channels; c += kLanes) {
      Vec total[kinds] = {};
      const auto add = [&](int64_t row) {
        Vec values[kinds];
        f((r + row) * channels + c, c, values);
        for (int k = 0; k < kinds; ++k) total[k] += values[k];
      };
      if (group == kGroup) {
        for (int64_t row = 0; row < kGroup; ++row) add(row);
      } else {
        for (int64_t row = 0; row < group; ++row) add(row);
      }
      for (int k = 0; k < kinds; ++k)
        store(part + k * channels + c, load(part + k * channels + c) + total[k]);
    }
    if ((r + kGroup) % kBlock == 0) flush<kinds>(channels, part, sums);
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
  const Vec z = x * load(op.scale + c) + load(op.shift + c);
  return residual ? z + load(static_cast<const S*>(op.residual) + i) : z;
}

// The rows of one operation, for an activation with or without residual.
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
                     dz * load(op.scale + c) + (v * load(op.slope + c) + load(op.offset + c)));
    });
  }
};

// Calls f with the Norm that fits the operation.
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
    put<streaming>(dx + i, load(dy + i) * load(op.gate + c) + load(op.offset + c));
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
