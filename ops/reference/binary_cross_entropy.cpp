#include "ops/places.h"
#include "ops/reference/kernels.h"
#include "ops/reference/types.h"
#include "ops/targets.h"

namespace shoal::ops::reference_kernels {
namespace {

template <class S>
void row(const CrossEntropy& op, const BinaryCrossEntropy& binary, int64_t r) {
  const int64_t classes = op.classes;
  const S* logits = static_cast<const S*>(op.logits) + r * classes;
  const int64_t a = op.label_a[r];
  const SoftTarget target(op, smoothing_share(op), r);
  const auto own = Element<S>::load(logits[a]);
  double loss = 0;    // Σ over the classes
  double weight = 1;  // Σ class weight * target
  int64_t before = 0;
  if (op.class_weights) weight = 0;
  for (int64_t c = 0; c < classes; ++c) {
    const auto logit = Element<S>::load(logits[c]);
    const double soft = target(c);
    loss += binary_loss(logit, binary_target(binary, soft));
    if (op.class_weights) weight += op.class_weights[c] * soft;
    before += places_before(logit, c, own, a);
  }
  const double scale = binary.sum_classes ? weight : weight / static_cast<double>(classes);
  *op.loss_sum += on_grid(scale * loss);
  *op.top1 += before < 1;
  *op.top5 += before < kTop5;

  if (!op.gradient) return;
  S* gradient = static_cast<S*>(op.gradient) + r * classes;
  for (int64_t c = 0; c < classes; ++c) {
    const double slope =
        binary_slope(Element<S>::load(logits[c]), binary_target(binary, target(c)));
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
