#pragma once
// Test values in any element type, and comparison of two buffers.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "ops/ops.h"
#include "ops/reference/types.h"

namespace shoal::ops::testing {

inline const char* type_name(Type type) {
  static const char* const names[] = {"f32", "f64", "bf16"};
  return names[static_cast<int>(type)];
}

// A buffer of elements of one type. With a seed, it is filled with pseudo-random values between
// shift - 1.7 scale and shift + 1.7 scale; without one, with zeros.
struct Buffer {
  Type type;
  int64_t size;
  std::vector<double> storage;  // aligned memory, used as bytes

  Buffer(Type t, int64_t n) : type(t), size(n), storage(static_cast<size_t>(n) + 8) {}
  Buffer(Type t, int64_t n, uint32_t seed, double scale = 1, double shift = 0) : Buffer(t, n) {
    uint32_t state = seed * 2654435761u + 12345;
    for (int64_t i = 0; i < n; ++i) {
      state = state * 1664525u + 1013904223u;
      set(i, shift + scale * (static_cast<double>(state >> 8) / (1 << 23) - 1) * 1.7);
    }
  }

  void* data() { return storage.data(); }
  const void* data() const { return storage.data(); }

  double get(int64_t i) const {
    double v = 0;
    dispatch(type, [&]<class S>(S) { v = Element<S>::load(static_cast<const S*>(data())[i]); });
    return v;
  }
  void set(int64_t i, double v) {
    dispatch(type, [&]<class S>(S) {
      static_cast<S*>(data())[i] = Element<S>::store(static_cast<typename Element<S>::Value>(v));
    });
  }
};

// Returns the largest difference relative to the largest magnitude in `want`.
inline double difference(const Buffer& got, const Buffer& want) {
  double worst = 0, largest = 0;
  for (int64_t i = 0; i < want.size; ++i) {
    const double d = std::abs(got.get(i) - want.get(i));
    worst = std::isnan(d) ? INFINITY : std::max(worst, d);
    largest = std::max(largest, std::abs(want.get(i)));
  }
  return worst / std::max(largest, 1e-30);
}

// Returns the type of batch norm statistics for activations of `type`.
inline Type statistics(Type type) {
  return type == Type::f64 ? Type::f64 : Type::f32;
}

// Returns the relative rounding tolerance of one element of the type.
inline double rounding(Type type) {
  switch (type) {
    case Type::f64:
      return 1e-13;
    case Type::bf16:
      return 1.0 / 128;
    default:
      return 3e-6;
  }
}

}  // namespace shoal::ops::testing
