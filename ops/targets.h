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

// Returns what smoothing adds to the target of each class.
inline double smoothing_share(const CrossEntropy& op) {
  return op.smoothing / static_cast<double>(op.classes);
}

// The targets of a row's classes: smoothed, and mixed from the labels of two images.
class SoftTarget {
 public:
  // `share`: smoothing_share(op), which the caller computes once.
  SHOAL_BOTH SoftTarget(const CrossEntropy& op, double share, int64_t row)
      : a_(op.label_a[row]), b_(op.label_b ? op.label_b[row] : a_), share_(share) {
    const double lambda = op.lambda ? op.lambda[row] : 1.0;
    const double rest = 1 - static_cast<double>(op.smoothing);
    share_a_ = rest * lambda;
    share_b_ = rest * (1 - lambda);
  }
  SHOAL_BOTH double operator()(int64_t c) const {
    double target = share_;
    if (c == a_) target += share_a_;
    if (c == b_) target += share_b_;
    return target;
  }

 private:
  int64_t a_, b_;
  double share_, share_a_, share_b_;
};

// Returns the target that binary cross-entropy uses. `soft`: a SoftTarget.
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
