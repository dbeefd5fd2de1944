#pragma once
// Targets of cross-entropy and binary cross-entropy, and the binary loss of one class. Compiles for
// CPU and GPU.

#include <cmath>
#include <cstdint>

#include "base/both.h"
#include "ops/ops.h"

namespace shoal::ops {

SHOAL_BOTH inline double class_weight(const CrossEntropy& op, int64_t c) {
  return op.class_weights ? op.class_weights[c] : 1.0;
}

// Returns the target of class `c` of a row: smoothed, and mixed from the labels of two images.
SHOAL_BOTH inline double soft_target(const CrossEntropy& op, int64_t row, int64_t c) {
  const int64_t a = op.label_a[row];
  const int64_t b = op.label_b ? op.label_b[row] : a;
  const double lambda = op.lambda ? op.lambda[row] : 1.0;
  const double smoothing = op.smoothing;
  double target = smoothing / static_cast<double>(op.classes);
  if (c == a) target += (1 - smoothing) * lambda;
  if (c == b) target += (1 - smoothing) * (1 - lambda);
  return target;
}

// Returns the target that binary cross-entropy uses. `soft`: the result of soft_target().
SHOAL_BOTH inline double binary_target(const BinaryCrossEntropy& binary, double soft) {
  if (binary.threshold < 0) return soft;
  return soft > binary.threshold ? 1.0 : 0.0;
}

// Returns -target log(p) - (1 - target) log(1 - p), where p = sigmoid(x). Does not overflow.
SHOAL_BOTH inline double binary_loss(double x, double target) {
  return std::fmax(x, 0.0) - x * target + std::log1p(std::exp(-std::fabs(x)));
}

// Returns the derivative of binary_loss() with respect to x. For an infinite x, the loss is not
// finite; returns NaN then, so that the gradient is not finite either.
SHOAL_BOTH inline double binary_slope(double x, double target) {
  const double e = std::exp(-std::fabs(x));
  const double sigmoid = (x < 0 ? e : 1) / (1 + e);
  return sigmoid - target + (x - x);
}

}  // namespace shoal::ops
