#pragma once
// Binary cross-entropy in four passes, which exchange intermediate results (LaneSums, RowResult)
// through scratch memory:
//   1. kLanesPerRow threads per row, each for its share of the classes: Σ loss, Σ class weight *
//      target, number of classes ranked before the label.
//   2. One thread per row: the row's factor, the loss times this factor, the label's rank.
//   3. One thread per metric: its sum over the rows.
//   4. One thread per logit: the gradient.

#include "ops/cuda/cross_entropy.cuh"
#include "ops/cuda/elements.cuh"
#include "ops/cuda/indexed.cuh"
#include "ops/places.h"
#include "ops/targets.h"

namespace shoal::ops::cuda_kernels {

struct LaneSums {
  double loss, weight;
  int64_t before;
};
static_assert(sizeof(LaneSums) <= sizeof(RowSums), "kRowsAtATime rows fit into the scratch memory");

// The kernels compute rows [first, first + rows) of the operation. `all_logits` points to the first
// of these rows.
template <class S>
void sum_binary_lanes(const CrossEntropy& op, const BinaryCrossEntropy& binary, int64_t first,
                      int64_t rows, const S* all_logits, LaneSums* lanes, void* stream) {
  for_each_index(rows * kLanesPerRow, stream, [=] SHOAL_BOTH(int64_t i) {
    const int64_t row = i / kLanesPerRow;
    const S* logits = all_logits + row * op.classes;
    const int64_t label = op.label_a[first + row];
    const Value<S> own = Element<S>::load(logits[label]);
    LaneSums sums = {0, 0, 0};
    for (int64_t c = i % kLanesPerRow; c < op.classes; c += kLanesPerRow) {
      const Value<S> logit = Element<S>::load(logits[c]);
      const double x = logit, soft = soft_target(op, first + row, c);
      sums.loss += binary_loss(x, binary_target(binary, soft));
      sums.weight += class_weight(op, c) * soft;
      sums.before += places_before(logit, c, own, label);
    }
    lanes[i] = sums;
  });
}

// Adds up the lanes of each row. RowResult::loss is already multiplied by the row's factor;
// RowResult::target_weight stores this factor for the gradient.
inline void combine_binary_lanes(const CrossEntropy& op, const BinaryCrossEntropy& binary,
                                 int64_t rows, const LaneSums* lanes, RowResult* results,
                                 void* stream) {
  for_each_index(rows, stream, [=] SHOAL_BOTH(int64_t row) {
    LaneSums sums = {0, 0, 0};
    for (int64_t k = 0; k < kLanesPerRow; ++k) {
      const LaneSums& lane = lanes[row * kLanesPerRow + k];
      sums.loss += lane.loss;
      sums.weight += lane.weight;
      sums.before += lane.before;
    }
    const double weight = op.class_weights ? sums.weight : 1;
    const double scale = binary.sum_classes ? weight : weight / static_cast<double>(op.classes);
    results[row] = {0, scale * sums.loss, scale, sums.before};
  });
}

template <class S>
void write_binary_gradient(const CrossEntropy& op, const BinaryCrossEntropy& binary, int64_t first,
                           int64_t rows, const S* all_logits, const RowResult* results,
                           void* stream) {
  S* const gradient = static_cast<S*>(op.gradient) + first * op.classes;
  for_each_index(rows * op.classes, stream, [=] SHOAL_BOTH(int64_t i) {
    const int64_t row = i / op.classes, c = i % op.classes;
    const double slope = binary_slope(Element<S>::load(all_logits[i]),
                                      binary_target(binary, soft_target(op, first + row, c)));
    const double scale = op.gradient_scale * results[row].target_weight;
    gradient[i] = Element<S>::store(static_cast<Value<S>>(scale * slope));
  });
}

template <class S>
void typed_binary_cross_entropy(const CrossEntropy& op, const BinaryCrossEntropy& binary,
                                int64_t first, int64_t rows, void* stream) {
  LaneSums* const lanes = reinterpret_cast<LaneSums*>(scratch());
  RowResult* const results = reinterpret_cast<RowResult*>(lanes + rows * kLanesPerRow);
  const S* const all_logits = static_cast<const S*>(op.logits) + first * op.classes;
  sum_binary_lanes(op, binary, first, rows, all_logits, lanes, stream);
  combine_binary_lanes(op, binary, rows, lanes, results, stream);
  add_metrics(op, rows, results, stream);
  if (op.gradient) write_binary_gradient(op, binary, first, rows, all_logits, results, stream);
}

inline void binary_cross_entropy(const CrossEntropy& op, const BinaryCrossEntropy& binary,
                                 void* stream) {
  for (int64_t first = 0; first < op.rows; first += kRowsAtATime) {
    const int64_t rows = std::min(kRowsAtATime, op.rows - first);
    with_type(op.type, [&](auto s) {
      typed_binary_cross_entropy<decltype(s)>(op, binary, first, rows, stream);
    });
  }
}

}  // namespace shoal::ops::cuda_kernels
