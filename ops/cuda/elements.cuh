#pragma once
// Element types of the CUDA operations, and vectorized loads of groups of adjacent channels.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>

#include "base/both.h"
#include "ops/ops.h"

namespace shoal::ops::cuda_kernels {

struct Bf16 {
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
  }
}

// Calls f(S{}, Width<n>{}), where n is the number of channels to load or store at once. These
// channels fill 16 bytes if `channels` is a multiple of n and all `arrays` are 16-byte aligned;
// otherwise n is 1. A misaligned access is a fatal error on a GPU.
template <class F>
void with_group_type(Type type, int64_t channels, std::initializer_list<const void*> arrays,
                     F&& f) {
  constexpr size_t kBytes = 16;
  bool aligned = true;
  for (const void* array : arrays) aligned &= reinterpret_cast<uintptr_t>(array) % kBytes == 0;
  with_type(type, [&](auto s) {
    constexpr int kWidth = kBytes / sizeof(s);
    if (aligned && channels % kWidth == 0) {
      f(s, Width<kWidth>{});
    } else {
      f(s, Width<1>{});
    }
  });
}

// Loads group `index` of the array `from`. A group is kWidth adjacent channels.
template <class S, int kWidth>
SHOAL_BOTH Pack<S, kWidth> load_pack(const void* from, int64_t index) {
  return static_cast<const Pack<S, kWidth>*>(from)[index];
}

template <class S, int kWidth>
SHOAL_BOTH void convert(const Pack<S, kWidth>& pack, Value<S>* to) {
  for (int j = 0; j < kWidth; ++j) to[j] = Element<S>::load(pack.values[j]);
}

template <class S, int kWidth>
SHOAL_BOTH void load_group(const void* from, int64_t index, Value<S>* to) {
  convert(load_pack<S, kWidth>(from, index), to);
}

template <class S, int kWidth>
SHOAL_BOTH void store_group(void* to, int64_t index, const Value<S>* from) {
  Pack<S, kWidth> pack;
  for (int j = 0; j < kWidth; ++j) pack.values[j] = Element<S>::store(from[j]);
  static_cast<Pack<S, kWidth>*>(to)[index] = pack;
}

}  // namespace shoal::ops::cuda_kernels
