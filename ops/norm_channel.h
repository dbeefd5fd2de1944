#pragma once
// What batch norm computes once per channel. Compiles for CPU and GPU. V: the statistics type.

#include <cmath>
#include <cstdint>

#include "base/both.h"
#include "ops/ops.h"

namespace shoal::ops {

// Computes the statistics of channel c from Σx, Σx² and the number of rows.
template <class V>
SHOAL_BOTH void finish_channel(const BatchNormFinish& op, int64_t c, double sum, double squares,
                               double count) {
  V* const pending = static_cast<V*>(op.pending);
  const double mean = sum / count;
  const double difference = squares / count - mean * mean;
  const double variance = difference < 0 ? 0 : difference;  // NaN stays NaN
  const double unbiased = variance * count / (count > 2 ? count - 1 : 1);
  static_cast<V*>(op.mean)[c] = static_cast<V>(mean);
  static_cast<V*>(op.inv_std)[c] = static_cast<V>(1 / std::sqrt(variance + op.eps));
  V& pending_mean = pending[c];
  V& pending_var = pending[op.channels + c];
  pending_mean = static_cast<V>((1 - op.momentum) * pending_mean + op.momentum * mean);
  pending_var = static_cast<V>((1 - op.momentum) * pending_var + op.momentum * unbiased);
}

// Stores channel c's gradients: `bias` = Σ dz, `weight` = Σ dz * xhat.
template <class V>
SHOAL_BOTH void store_gradients(const NormGradients& to, int64_t c, double bias, double weight) {
  V* const biases = static_cast<V*>(to.bias);
  V* const weights = static_cast<V*>(to.weight);
  if (biases) biases[c] = static_cast<V>(bias + (to.add ? static_cast<double>(biases[c]) : 0));
  if (weights) weights[c] = static_cast<V>(weight + (to.add ? static_cast<double>(weights[c]) : 0));
}

}  // namespace shoal::ops
