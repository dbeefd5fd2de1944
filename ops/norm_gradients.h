#pragma once
// Stores the gradients of a batch norm's parameters. Compiles for CPU and GPU.

#include <cstdint>

#include "base/both.h"
#include "ops/ops.h"

namespace shoal::ops {

// Stores channel c's gradients: `bias` = Σ dz, `weight` = Σ dz * xhat. V: the statistics type.
template <class V>
SHOAL_BOTH void store_gradients(const NormGradients& to, int64_t c, double bias, double weight) {
  V* const biases = static_cast<V*>(to.bias);
  V* const weights = static_cast<V*>(to.weight);
  if (biases) biases[c] = static_cast<V>(bias + (to.add ? static_cast<double>(biases[c]) : 0));
  if (weights) weights[c] = static_cast<V>(weight + (to.add ? static_cast<double>(weights[c]) : 0));
}

}  // namespace shoal::ops
