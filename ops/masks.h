#pragma once
// Values of the random masks (ops::Mask). Compiles for CPU and GPU.

#include <cstdint>

#include "base/both.h"
#include "base/hash.h"
#include "ops/ops.h"

namespace shoal::ops {

SHOAL_BOTH inline uint64_t chained(uint64_t state, uint64_t value) {
  return mix_bits(state + kGolden * (value + 1));
}

// Returns the hash of the run's seed and the layer, which the caller computes once.
inline uint64_t mask_seed(const Mask& mask) {
  return chained(mix_bits(mask.seed), mask.layer);
}

// Returns whether the mask drops an element of the row with the key `key`.
SHOAL_BOTH inline bool is_dropped(uint64_t seed, uint64_t key, int64_t element, double drop) {
  const uint64_t bits = chained(chained(seed, key), static_cast<uint64_t>(element));
  return static_cast<double>(bits >> 11) * 0x1p-53 < drop;
}

// Returns the value of the elements that are not dropped.
inline double kept_value(double drop) {
  return drop < 1 ? 1 / (1 - drop) : 0;
}

}  // namespace shoal::ops
