#pragma once
// Binary cross-entropy in one kernel, with one block per row.

#include "ops/cuda/cross_entropy.cuh"

namespace shoal::ops::cuda_kernels {

template <class S>
struct BinaryCrossEntropyRows {
  struct Sums {
    double loss, weight;
    int64_t before;
  };
  struct Shared {
    Sums sums[kBlockThreads];
  };

  SHOAL_DEVICE void operator()(const Block& block, Shared& shared) const {
    const int64_t row = block.index();
    const S* const logits = static_cast<const S*>(op.logits) + row * op.classes;
    block.each([&](int thread) { shared.sums[thread] = sums_of(row, logits, thread); });
    fold(block, kBlockThreads, 1, [&](int thread, int other) {
      Sums &to = shared.sums[thread], &from = shared.sums[other];
      to.loss += from.loss;
      to.weight += from.weight;
      to.before += from.before;
    });
    block.each([&](int thread) {
      const Sums& sums = shared.sums[0];
      const double weight = op.class_weights ? sums.weight : 1;
      const double factor = binary.sum_classes ? weight : weight / static_cast<double>(op.classes);
      if (thread == 0) add_metrics(op, factor * sums.loss, sums.before);
      if (!op.gradient) return;
      const SoftTarget soft(op, share, row);
      S* const gradient = static_cast<S*>(op.gradient) + row * op.classes;
      for (int64_t c = thread; c < op.classes; c += kBlockThreads) {
        const double slope =
            binary_slope(Element<S>::load(logits[c]), binary_target(binary, soft(c)));
        gradient[c] = Element<S>::store(static_cast<Value<S>>(op.gradient_scale * factor * slope));
      }
    });
  }

  SHOAL_DEVICE Sums sums_of(int64_t row, const S* logits, int thread) const {
    const int64_t label = op.label_a[row];
    const Value<S> own = Element<S>::load(logits[label]);
    const SoftTarget soft(op, share, row);
    Sums sums = {0, 0, 0};
    for (int64_t c = thread; c < op.classes; c += kBlockThreads) {
      const Value<S> logit = Element<S>::load(logits[c]);
      sums.loss += binary_loss(logit, binary_target(binary, soft(c)));
      sums.weight += class_weight(op, c) * soft(c);
      sums.before += places_before(logit, c, own, label);
    }
    return sums;
  }

  CrossEntropy op;
  BinaryCrossEntropy binary;
  double share = smoothing_share(op);
};

inline void binary_cross_entropy(const CrossEntropy& op, const BinaryCrossEntropy& binary,
                                 void* stream) {
  with_type(op.type, [&](auto s) {
    using Rows = BinaryCrossEntropyRows<decltype(s)>;
    for_each_block<typename Rows::Shared>(op.rows, stream, Rows{op, binary});
  });
}

}  // namespace shoal::ops::cuda_kernels
