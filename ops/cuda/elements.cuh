#pragma once
// Element types of the CUDA operations, and vectorized loads of groups of adjacent channels.

#include <cstdint>
#include <cstring>

#include "base/both.h"
#include "ops/ops.h"

#ifdef __CUDACC__
#include <cuda_fp16.h>
#endif

namespace shoal::ops::cuda_kernels {

struct Bf16 {
  uint16_t bits;
};
struct F16 {
  uint16_t bits;
};

// Converts elements of storage type S to and from Value, the type of arithmetic, statistics and
// parameters.
template <class S>
struct Element {
  using Value = S;
  SHOAL_BOTH static S load(S v) { return v; }
  SHOAL_BOTH static S store(S v) { return v; }
};

template <>
struct Element<Bf16> {
  using Value = float;
  SHOAL_BOTH static float load(Bf16 v) {
    const uint32_t bits = static_cast<uint32_t>(v.bits) << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
  }
  SHOAL_BOTH static Bf16 store(float v) {  // round to nearest, ties to even
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    if (v != v) return {static_cast<uint16_t>((bits >> 16) | 0x40)};
    return {static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16)};
  }
};

template <>
struct Element<F16> {
  using Value = float;
#ifdef __CUDACC__
  SHOAL_BOTH static float load(F16 v) {
    __half h;
    memcpy(&h, &v, sizeof h);
    return __half2float(h);
  }
  SHOAL_BOTH static F16 store(float v) {
    const __half h = __float2half_rn(v);
    F16 f;
    memcpy(&f, &h, sizeof f);
    return f;
  }
#else
  static float load(F16 v) {
    _Float16 h;
    memcpy(&h, &v, sizeof h);
    return static_cast<float>(h);
  }
  static F16 store(float v) {
    const auto h = static_cast<_Float16>(v);
    F16 f;
    memcpy(&f, &h, sizeof f);
    return f;
  }
#endif
};

template <class S>
using Value = typename Element<S>::Value;

template <class S, int kWidth>
struct alignas(sizeof(S) * kWidth) Pack {
  S values[kWidth];
};

template <int kWidth>
struct Width {
  static constexpr int value = kWidth;
};

// Calls f(S{}) with the storage type of `type`.
template <class F>
void with_type(Type type, F&& f) {
  switch (type) {
    case Type::f32:
      return f(float{});
    case Type::f64:
      return f(double{});
    case Type::bf16:
      return f(Bf16{});
    case Type::f16:
      return f(F16{});
  }
}

// Calls f(S{}, Width<n>{}), where n is the number of channels to load at once. If `channels` is a
// multiple of 16 / sizeof(S), n is this number (16 bytes), otherwise 1.
template <class F>
void with_group_type(Type type, int64_t channels, F&& f) {
  with_type(type, [&](auto s) {
    constexpr int kWidth = 16 / sizeof(s);
    if (channels % kWidth == 0) {
      f(s, Width<kWidth>{});
    } else {
      f(s, Width<1>{});
    }
  });
}

// Loads group `index` of an array of channel groups.
template <class S, int kWidth>
SHOAL_BOTH void load_group(const void* from, int64_t index, Value<S>* to) {
  const auto pack = static_cast<const Pack<S, kWidth>*>(from)[index];
  for (int j = 0; j < kWidth; ++j) to[j] = Element<S>::load(pack.values[j]);
}

template <class S, int kWidth>
SHOAL_BOTH void store_group(void* to, int64_t index, const Value<S>* from) {
  Pack<S, kWidth> pack;
  for (int j = 0; j < kWidth; ++j) pack.values[j] = Element<S>::store(from[j]);
  static_cast<Pack<S, kWidth>*>(to)[index] = pack;
}

}  // namespace shoal::ops::cuda_kernels
