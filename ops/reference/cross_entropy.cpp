#include <cmath>

#include "ops/places.h"
#include "ops/reference/kernels.h"
#include "ops/reference/types.h"
#include "ops/targets.h"

namespace shoal::ops::reference_kernels {
namespace {

template <class S>
double row_log_sum(const S* logits, int64_t classes) {
  double highest = Element<S>::load(logits[0]);
  for (int64_t c = 1; c < classes; ++c) highest = std::fmax(highest, Element<S>::load(logits[c]));
  double sum = 0;
  for (int64_t c = 0; c < classes; ++c) sum += std::exp(Element<S>::load(logits[c]) - highest);
  return highest + std::log(sum);
}

// Returns the label's rank by score, from 0; see places_before().
template <class S>
int64_t place(const S* logits, int64_t classes, int64_t label) {
  const auto own = Element<S>::load(logits[label]);
  int64_t before = 0;
  for (int64_t c = 0; c < classes; ++c)
    before += places_before(Element<S>::load(logits[c]), c, own, label);
  return before;
}

template <class S>
void row(const CrossEntropy& op, int64_t r) {
  const int64_t classes = op.classes;
  const S* logits = static_cast<const S*>(op.logits) + r * classes;
  const int64_t a = op.label_a[r];
  const int64_t b = op.label_b ? op.label_b[r] : a;
  const double lambda = op.lambda ? op.lambda[r] : 1.0;
  const double smoothing = op.smoothing;
  const double log_sum = row_log_sum(logits, classes);
  const auto weight = [&](int64_t c) { return class_weight(op, c); };
  const auto log_probability = [&](int64_t c) { return Element<S>::load(logits[c]) - log_sum; };

  double loss = -(1 - smoothing) * (lambda * weight(a) * log_probability(a) +
                                    (1 - lambda) * weight(b) * log_probability(b));
  double target_weight = 1;  // Σ weight * target
  if (op.class_weights)
    target_weight = (1 - smoothing) * (lambda * weight(a) + (1 - lambda) * weight(b));
  if (smoothing > 0) {
    double sum = 0;
    for (int64_t c = 0; c < classes; ++c) {
      sum += weight(c) * log_probability(c);
      if (op.class_weights) target_weight += smoothing / static_cast<double>(classes) * weight(c);
    }
    loss -= smoothing / static_cast<double>(classes) * sum;
  }
  *op.loss_sum += on_grid(loss);

  const int64_t before = place(logits, classes, a);
  *op.top1 += before < 1;
  *op.top5 += before < kTop5;

  if (!op.gradient) return;
  S* gradient = static_cast<S*>(op.gradient) + r * classes;
  const SoftTarget target(op, smoothing_share(op), r);
  for (int64_t c = 0; c < classes; ++c) {
    const double g =
        op.gradient_scale * (std::exp(log_probability(c)) * target_weight - weight(c) * target(c));
    gradient[c] = Element<S>::store(static_cast<typename Element<S>::Value>(g));
  }
}

}  // namespace

void cross_entropy(const CrossEntropy& op, void*) {
  dispatch(op.type, [&]<class S>(S) {
    for (int64_t r = 0; r < op.rows; ++r) row<S>(op, r);
  });
}

}  // namespace shoal::ops::reference_kernels
