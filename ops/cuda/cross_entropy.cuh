#pragma once
// Softmax cross-entropy in four passes, which exchange intermediate results (RowSums, RowResult)
// through scratch memory:
//   1. kLanesPerRow threads per row, each for its share of the classes: largest logit, Σ class
//      weight, Σ class weight * logit, number of classes ranked before the label.
//   2. The same threads: Σ exp(logit - largest logit of the row).
//   3. One thread per row: log Σ exp, loss, Σ class weight * target, label's rank.
//   4. One thread per metric: its sum over the rows. Then one thread per logit: the gradient.

#include <cmath>

#include "ops/cuda/elements.cuh"
#include "ops/cuda/indexed.cuh"
#include "ops/places.h"
#include "ops/targets.h"

namespace shoal::ops::cuda_kernels {

constexpr int64_t kLanesPerRow = 32;

struct RowSums {
  double largest, exponentials, weights, weighted_logits;
  int64_t before;
};
struct RowResult {
  double log_sum, loss, target_weight;
  int64_t place;
};

// Maximum number of rows that fit into the scratch memory at a time.
constexpr int64_t kRowsAtATime =
    kPartialSums * sizeof(double) / (kLanesPerRow * sizeof(RowSums) + sizeof(RowResult));

// The kernels compute rows [first, first + rows) of the operation. `all_logits` points to the first
// of these rows.
template <class S>
void sum_lanes(const CrossEntropy& op, int64_t first, int64_t rows, const S* all_logits,
               RowSums* lanes, void* stream) {
  using V = Value<S>;
  const int64_t classes = op.classes;
  for_each_index(rows * kLanesPerRow, stream, [=] SHOAL_BOTH(int64_t i) {
    const int64_t row = i / kLanesPerRow;
    const S* logits = all_logits + row * classes;
    const int64_t label = op.label_a[first + row];
    const V own = Element<S>::load(logits[label]);
    RowSums sums = {-INFINITY, 0, 0, 0, 0};
    for (int64_t c = i % kLanesPerRow; c < classes; c += kLanesPerRow) {
      const V logit = Element<S>::load(logits[c]);
      sums.largest = std::fmax(sums.largest, static_cast<double>(logit));
      sums.weights += class_weight(op, c);
      sums.weighted_logits += class_weight(op, c) * static_cast<double>(logit);
      sums.before += places_before(logit, c, own, label);
    }
    lanes[i] = sums;
  });
}

template <class S>
void sum_exponentials(int64_t classes, int64_t rows, const S* all_logits, RowSums* lanes,
                      void* stream) {
  for_each_index(rows * kLanesPerRow, stream, [=] SHOAL_BOTH(int64_t i) {
    const int64_t row = i / kLanesPerRow;
    double largest = -INFINITY;
    for (int64_t k = 0; k < kLanesPerRow; ++k)
      largest = std::fmax(largest, lanes[row * kLanesPerRow + k].largest);
    double sum = 0;
    for (int64_t c = i % kLanesPerRow; c < classes; c += kLanesPerRow)
      sum += std::exp(Element<S>::load(all_logits[row * classes + c]) - largest);
    lanes[i].exponentials = sum;
  });
}

template <class S>
void combine_lanes(const CrossEntropy& op, int64_t first, int64_t rows, const S* all_logits,
                   const RowSums* lanes, RowResult* results, void* stream) {
  const int64_t classes = op.classes;
  for_each_index(rows, stream, [=] SHOAL_BOTH(int64_t row) {
    double largest = -INFINITY, exponentials = 0, weights = 0, weighted_logits = 0;
    int64_t before = 0;
    for (int64_t k = 0; k < kLanesPerRow; ++k) {
      const RowSums& lane = lanes[row * kLanesPerRow + k];
      largest = std::fmax(largest, lane.largest);
      exponentials += lane.exponentials;
      weights += lane.weights;
      weighted_logits += lane.weighted_logits;
      before += lane.before;
    }
    const double log_sum = largest + std::log(exponentials);
    const S* logits = all_logits + row * classes;
    const int64_t a = op.label_a[first + row];
    const int64_t b = op.label_b ? op.label_b[first + row] : a;
    const double lambda = op.lambda ? op.lambda[first + row] : 1.0;
    const double smoothing = op.smoothing;
    const double log_a = Element<S>::load(logits[a]) - log_sum;
    const double log_b = Element<S>::load(logits[b]) - log_sum;
    const double share_a = (1 - smoothing) * lambda * class_weight(op, a);
    const double share_b = (1 - smoothing) * (1 - lambda) * class_weight(op, b);
    const double share = smoothing / static_cast<double>(classes);  // target from smoothing alone
    double loss = -(share_a * log_a + share_b * log_b);
    if (smoothing > 0) loss -= share * (weighted_logits - weights * log_sum);
    results[row] = {log_sum, loss, share_a + share_b + share * weights, before};
  });
}

inline void add_metrics(const CrossEntropy& op, int64_t rows, const RowResult* results,
                        void* stream) {
  for_each_index(3, stream, [=] SHOAL_BOTH(int64_t which) {
    double loss = 0;
    int64_t right = 0;
    for (int64_t row = 0; row < rows; ++row) {
      loss += on_grid(results[row].loss);
      right += results[row].place < (which == 1 ? 1 : kTop5);
    }
    if (which == 0) *op.loss_sum += loss;
    if (which == 1) *op.top1 += right;
    if (which == 2) *op.top5 += right;
  });
}

template <class S>
void write_gradient(const CrossEntropy& op, int64_t first, int64_t rows, const S* all_logits,
                    const RowResult* results, void* stream) {
  using V = Value<S>;
  const int64_t classes = op.classes;
  S* const gradient = static_cast<S*>(op.gradient) + first * classes;
  for_each_index(rows * classes, stream, [=] SHOAL_BOTH(int64_t i) {
    const int64_t row = i / classes, c = i % classes;
    const double target = soft_target(op, first + row, c);
    const double probability = std::exp(Element<S>::load(all_logits[i]) - results[row].log_sum);
    const double slope = probability * results[row].target_weight - class_weight(op, c) * target;
    gradient[i] = Element<S>::store(static_cast<V>(op.gradient_scale * slope));
  });
}

template <class S>
void typed_cross_entropy(const CrossEntropy& op, int64_t first, int64_t rows, void* stream) {
  RowSums* const lanes = reinterpret_cast<RowSums*>(scratch());
  RowResult* const results = reinterpret_cast<RowResult*>(lanes + rows * kLanesPerRow);
  const S* const all_logits = static_cast<const S*>(op.logits) + first * op.classes;
  sum_lanes(op, first, rows, all_logits, lanes, stream);
  sum_exponentials(op.classes, rows, all_logits, lanes, stream);
  combine_lanes(op, first, rows, all_logits, lanes, results, stream);
  add_metrics(op, rows, results, stream);
  if (op.gradient) write_gradient(op, first, rows, all_logits, results, stream);
}

inline void cross_entropy(const CrossEntropy& op, void* stream) {
  for (int64_t first = 0; first < op.rows; first += kRowsAtATime) {
    const int64_t rows = std::min(kRowsAtATime, op.rows - first);
    with_type(op.type, [&](auto s) { typed_cross_entropy<decltype(s)>(op, first, rows, stream); });
  }
}

}  // namespace shoal::ops::cuda_kernels
