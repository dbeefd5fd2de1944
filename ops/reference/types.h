#pragma once
// Element types for code without vector instructions, and their conversion to and from the
// statistics type.

#include <cstdint>
#include <cstring>

#include "ops/ops.h"

namespace shoal::ops {

struct Bf16 {
  uint16_t bits;
};

// Converts elements of storage type S to and from Value, the type of arithmetic, statistics and
// normalization parameters.
template <class S>
struct Element;

template <>
struct Element<double> {
  using Value = double;
  static double load(double v) { return v; }
  static double store(double v) { return v; }
};

template <>
struct Element<float> {
  using Value = float;
  static float load(float v) { return v; }
  static float store(float v) { return v; }
};

template <>
struct Element<Bf16> {
  using Value = float;
  static float load(Bf16 v) {
    const uint32_t bits = static_cast<uint32_t>(v.bits) << 16;
    float f;
    std::memcpy(&f, &bits, sizeof f);
    return f;
  }
  static Bf16 store(float v) {  // round to nearest, ties to even
    uint32_t bits;
    std::memcpy(&bits, &v, sizeof bits);
    if (v != v) return {static_cast<uint16_t>((bits >> 16) | 0x40)};
    return {static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16)};
  }
};

// Calls f(S{}), where S is the storage type of `type`.
template <class F>
void dispatch(Type type, F&& f) {
  switch (type) {
    case Type::f32:
      return f(float{});
    case Type::f64:
      return f(double{});
    case Type::bf16:
      return f(Bf16{});
  }
}

}  // namespace shoal::ops
