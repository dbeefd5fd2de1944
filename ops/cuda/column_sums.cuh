#pragma once
// Sums over rows in double. The order of additions depends only on the shape.

#include <cstdint>

#include "ops/cuda/indexed.cuh"

namespace shoal::ops::cuda_kernels {

// Returns how many threads ("lanes") share the rows of each group of channels, if all `groups`
// together get about `threads` threads: at least 1, at most `rows`.
inline int64_t lanes_for(int64_t groups, int64_t rows, int64_t threads) {
  return std::max<int64_t>(1, std::min(rows, threads / std::max<int64_t>(groups, 1)));
}

// For each of `outer` matrices (rows×channels) and each channel, computes kSums sums over the rows.
// terms.lane(group).add(row, sums) adds a row's terms for a group of kWidth channels to
// sums[kSums][kWidth]; `row` is numbered across all matrices. For sum number s of each
// channel, calls store(matrix, s * channels + channel, total).
template <int kSums, int kWidth, class Terms, class Store>
void column_sums(int64_t outer, int64_t rows, int64_t channels, const Launch& launch,
                 const Terms& terms, const Store& store) {
  constexpr int64_t kFold = 128;  // maximum number of partial sums that one thread adds up
  const int64_t groups = channels / kWidth, columns = kSums * channels;
  const int64_t split = lanes_for(outer * groups, rows, kPartialSums / (kSums * kWidth));
  double* const sums_of_lanes = scratch();
  for_each_index(outer * split * groups, launch, [=] SHOAL_BOTH(int64_t i) {
    const int64_t group = i % groups, lane = i / groups % split, matrix = i / groups / split;
    double sums[kSums][kWidth] = {};
    auto adder = terms.lane(group);
    for (int64_t row = lane; row < rows; row += split) adder.add(matrix * rows + row, sums);
    for (int s = 0; s < kSums; ++s) {
      for (int j = 0; j < kWidth; ++j) {
        const int64_t column = s * channels + group * kWidth + j;
        if (split == 1) {
          store(matrix, column, sums[s][j]);
        } else {
          sums_of_lanes[(matrix * split + lane) * columns + column] = sums[s][j];
        }
      }
    }
  });
  if (split == 1) return;
  int64_t lanes = split;
  double* partial = sums_of_lanes;
  while (lanes > kFold) {
    const int64_t before = lanes, after = (lanes + kFold - 1) / kFold;
    const double* const from = partial;
    double* const to = partial + outer * before * columns;
    for_each_index(outer * after * columns, launch, [=] SHOAL_BOTH(int64_t i) {
      const int64_t column = i % columns, lane = i / columns % after, matrix = i / columns / after;
      double sum = 0;
      for (int64_t k = lane; k < before; k += after)
        sum += from[(matrix * before + k) * columns + column];
      to[i] = sum;
    });
    partial = to;
    lanes = after;
  }
  const int64_t left = lanes;
  const double* const from = partial;
  for_each_index(outer * columns, launch, [=] SHOAL_BOTH(int64_t i) {
    const int64_t column = i % columns, matrix = i / columns;
    double sum = 0;
    for (int64_t k = 0; k < left; ++k) sum += from[(matrix * left + k) * columns + column];
    store(matrix, column, sum);
  });
}

}  // namespace shoal::ops::cuda_kernels
