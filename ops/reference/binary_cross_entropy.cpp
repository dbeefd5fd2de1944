#include <cmath>

#include "ops/places.h"
#include "ops/reference/kernels.h"
#include "ops/reference/types.h"

namespace shoal::ops::reference_kernels {
namespace {

template <class S>
void row(const CrossEntropy& op, const BinaryCrossEntropy& binary, int64_t r) {
  const int64_t classes = op.classes;
  const S* logits = static_cast<const S*>(op.logits) + r * classes;
  const int64_t a = op.label_a[r];
  const int64_t b = op.label_b ? op.label_b[r] : a;
  const double lambda = op.lambda ? op.lambda[r] : 1.0;
  const double smoothing = op.smoothing;
  const auto soft_target = [&](int64_t c) {
    double target = smoothing / static_cast<double>(classes);
    if (c == a) target += (1 - smoothing) * lambda;
    if (c == b) target += (1 - smoothing) * (1 - lambda);
    return target;
  };
  const auto target = [&](int64_t c) {
    const double soft = soft_target(c);
    if (binary.threshold < 0) return soft;
    return soft > binary.threshold ? 1.0 : 0.0;
  };

  const auto own = Element<S>::load(logits[a]);
  double loss = 0;    // Σ over the classes
  double weight = 1;  // Σ class weight * target
  int64_t before = 0;
  if (op.class_weights) weight = 0;
  for (int64_t c = 0; c < classes; ++c) {
    const auto logit = Element<S>::load(logits[c]);
    const double x = logit;
    // Equals -target log(sigmoid(x)) - (1 - target) log(1 - sigmoid(x)), without overflow.
    loss += std::fmax(x, 0) - x * target(c) + std::log1p(std::exp(-std::fabs(x)));
    if (op.class_weights) weight += op.class_weights[c] * soft_target(c);
    before += places_before(logit, c, own, a);
  }
  const double scale = binary.sum_classes ? weight : weight / static_cast<double>(classes);
  *op.loss_sum += on_grid(scale * loss);
  *op.top1 += before < 1;
  *op.top5 += before < kTop5;

  if (!op.gradient) return;
  S* gradient = static_cast<S*>(op.gradient) + r * classes;
  for (int64_t c = 0; c < classes; ++c) {
    const double x = Element<S>::load(logits[c]);
    const double e = std::exp(-std::fabs(x));
    const double sigmoid = (x < 0 ? e : 1) / (1 + e);
    // x - x is NaN for an infinite logit. The loss is not finite then, so the step must not be
    // either.
    const double slope = sigmoid - target(c) + (x - x);
    gradient[c] = Element<S>::store(
        static_cast<typename Element<S>::Value>(op.gradient_scale * scale * slope));
  }
}

}  // namespace

void binary_cross_entropy(const CrossEntropy& op, const BinaryCrossEntropy& binary, void*) {
  dispatch(op.type, [&]<class S>(S) {
    for (int64_t r = 0; r < op.rows; ++r) row<S>(op, binary, r);
  });
}

}  // namespace shoal::ops::reference_kernels
