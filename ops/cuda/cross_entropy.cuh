#pragma once
// Softmax cross-entropy in one kernel, with one block per row.

#include <cmath>

#include "ops/cuda/blocks.cuh"
#include "ops/cuda/elements.cuh"
#include "ops/places.h"
#include "ops/targets.h"

namespace shoal::ops::cuda_kernels {

// Adds a row's loss and the label's rank (`place`, from 0) to the operation's metrics. Sums of
// losses on the grid are exact, so the order of the rows does not matter.
SHOAL_DEVICE inline void add_metrics(const CrossEntropy& op, double loss, int64_t place) {
  add_to(op.loss_sum, on_grid(loss));
  if (place < 1) add_to(op.top1, 1);
  if (place < kTop5) add_to(op.top5, 1);
}

// Block i computes row i.
template <class S>
struct CrossEntropyRows {
  struct Sums {
    double largest, weights, weighted_logits;
    int64_t before;
  };
  struct Shared {
    Sums sums[kBlockThreads];
    double exponentials[kBlockThreads];
    double log_sum, target_weight;
  };

  SHOAL_DEVICE void operator()(const Block& block, Shared& shared) const {
    const int64_t row = block.index(), classes = op.classes;
    const S* const logits = static_cast<const S*>(op.logits) + row * classes;
    block.each([&](int thread) { shared.sums[thread] = sums_of(row, logits, thread); });
    fold(block, kBlockThreads, 1, [&](int thread, int other) {
      Sums &to = shared.sums[thread], &from = shared.sums[other];
      to.largest = std::fmax(to.largest, from.largest);
      to.weights += from.weights;
      to.weighted_logits += from.weighted_logits;
      to.before += from.before;
    });
    block.each([&](int thread) {
      double sum = 0;
      for (int64_t c = thread; c < classes; c += kBlockThreads)
        sum += std::exp(Element<S>::load(logits[c]) - shared.sums[0].largest);
      shared.exponentials[thread] = sum;
    });
    fold(block, kBlockThreads, 1,
         [&](int thread, int other) { shared.exponentials[thread] += shared.exponentials[other]; });
    block.each([&](int thread) {
      if (thread == 0) finish_row(row, logits, shared);
    });
    if (!op.gradient) return;
    S* const gradient = static_cast<S*>(op.gradient) + row * classes;
    block.each([&](int thread) {
      const SoftTarget soft(op, share, row);
      for (int64_t c = thread; c < classes; c += kBlockThreads) {
        const double probability = std::exp(Element<S>::load(logits[c]) - shared.log_sum);
        const double slope = probability * shared.target_weight - class_weight(op, c) * soft(c);
        gradient[c] = Element<S>::store(static_cast<Value<S>>(op.gradient_scale * slope));
      }
    });
  }

  SHOAL_DEVICE Sums sums_of(int64_t row, const S* logits, int thread) const {
    const int64_t label = op.label_a[row];
    const Value<S> own = Element<S>::load(logits[label]);
    Sums sums = {-INFINITY, 0, 0, 0};
    for (int64_t c = thread; c < op.classes; c += kBlockThreads) {
      const Value<S> logit = Element<S>::load(logits[c]);
      sums.largest = std::fmax(sums.largest, static_cast<double>(logit));
      sums.weights += class_weight(op, c);
      sums.weighted_logits += class_weight(op, c) * static_cast<double>(logit);
      sums.before += places_before(logit, c, own, label);
    }
    return sums;
  }

  SHOAL_DEVICE void finish_row(int64_t row, const S* logits, Shared& shared) const {
    const Sums& sums = shared.sums[0];
    const double log_sum = sums.largest + std::log(shared.exponentials[0]);
    const int64_t a = op.label_a[row], b = op.label_b ? op.label_b[row] : a;
    const double lambda = op.lambda ? op.lambda[row] : 1.0;
    const double smoothing = op.smoothing;
    const double log_a = Element<S>::load(logits[a]) - log_sum;
    const double log_b = Element<S>::load(logits[b]) - log_sum;
    const double share_a = (1 - smoothing) * lambda * class_weight(op, a);
    const double share_b = (1 - smoothing) * (1 - lambda) * class_weight(op, b);
    double loss = -(share_a * log_a + share_b * log_b);
    if (smoothing > 0) loss -= share * (sums.weighted_logits - sums.weights * log_sum);
    shared.log_sum = log_sum;
    shared.target_weight = share_a + share_b + share * sums.weights;
    add_metrics(op, loss, sums.before);
  }

  CrossEntropy op;
  double share = smoothing_share(op);
};

inline void cross_entropy(const CrossEntropy& op, void* stream) {
  with_type(op.type, [&](auto s) {
    using Rows = CrossEntropyRows<decltype(s)>;
    for_each_block<typename Rows::Shared>(op.rows, stream, Rows{op});
  });
}

}  // namespace shoal::ops::cuda_kernels
