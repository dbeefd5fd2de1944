#pragma once
// Values that fill erased rectangles (random erasing). All implementations of prepare_batch use
// these functions.

#include <cmath>
#include <cstdint>

#include "base/both.h"
#include "base/hash.h"
#include "ops/ops.h"

namespace shoal::ops {

// Returns 64 random bits for (key, index): SplitMix64 with `index` as the counter.
SHOAL_BOTH inline uint64_t erase_bits(uint64_t key, uint64_t index) {
  return mix_bits(key + (index + 1) * kGolden);
}

// Returns a standard normal value for (key, index), by the Box-Muller transform.
SHOAL_BOTH inline double erase_normal(uint64_t key, uint64_t index) {
  const uint64_t bits = erase_bits(key, index);
  const double first = static_cast<double>((bits >> 32) + 1) * 0x1p-32;  // uniform in (0, 1]
  const double second = static_cast<double>(bits & 0xffffffff) * 0x1p-32;
#ifdef __CUDA_ARCH__
  const double cosine = cospi(2 * second);  // cos() would reserve stack memory for large angles
#else
  constexpr double kTwoPi = 6.283185307179586476925;
  const double cosine = std::cos(kTwoPi * second);
#endif
  return std::sqrt(-2 * std::log(first)) * cosine;
}

// Returns the normalized value of an element inside mix.erase[rectangle]. `value` is the element's
// index in an RGB image: 3 * (y * width + x) + channel. Gray images use the same formula with
// channel 0.
SHOAL_BOTH inline double erased_value(const MixRow& mix, int rectangle, int64_t value) {
  if (mix.erase_fill == EraseFill::constant) return 0;
  const bool color = mix.erase_fill == EraseFill::color;
  const int64_t index = color ? value % 3 : value + 3;
  const uint64_t key = mix.erase_key + static_cast<uint64_t>(rectangle) * 0x632be59bd9b4e019ULL;
  return erase_normal(key, static_cast<uint64_t>(index));
}

}  // namespace shoal::ops
