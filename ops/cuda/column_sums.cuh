#pragma once
// Sums over rows in double, in one kernel. The order of additions depends only on the shape.

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "ops/cuda/blocks.cuh"
#include "ops/cuda/elements.cuh"

namespace shoal::ops::cuda_kernels {

// Returns how many threads ("lanes") share the rows of each group of channels, if all `groups`
// together get about `threads` threads: at least 1, at most `rows`.
inline int64_t lanes_for(int64_t groups, int64_t rows, int64_t threads) {
  return std::max<int64_t>(1, std::min(rows, threads / std::max<int64_t>(groups, 1)));
}

// The type in which a thread adds up the terms of a few rows. Terms computed from bf16 numbers lose
// hardly anything in float, and GPUs convert to double slowly.
template <class S>
using FewRows = std::conditional_t<std::is_same_v<S, Bf16>, float, double>;

// The kernel of column_sums(). The channels are divided into tiles of up to kMostGroups groups, and
// the rows into `parts` parts. A block adds up one part of one tile. Its threads form n lanes with
// one thread per group; each lane adds up every nth row of the part. A tree in shared memory then
// adds up the lanes. The last block of a tile adds up the parts in the same way.
template <int kSums, int kWidth, class Terms, class Store>
struct ColumnSums {
  // Maximum number of groups in a block. Eight groups are 128 adjacent bytes, enough for fast
  // loads. With more groups, a tile would have more parts, which its last block adds up alone.
  static constexpr int kMostGroups = kWidth == 1 ? 32 : 8;
  static constexpr int64_t kBlocks = 1024;     // enough to fill a large GPU
  static constexpr int64_t kRowsOfThread = 4;  // at least, if several parts share the rows
  static_assert(kBlocks <= kArrivals);
  static_assert(kBlocks * kMostGroups * kWidth * kSums * sizeof(double) <= kScratchBytes);

  struct Shared {
    double sums[kSums][kWidth][kBlockThreads];
  };

  ColumnSums(int64_t outer, int64_t row_count, int64_t channels, const Terms& t, const Store& s)
      : matrices(outer), rows(row_count), groups(channels / kWidth), terms(t), store(s) {
    tiles = static_cast<unsigned>((groups + kMostGroups - 1) / kMostGroups);
    width = static_cast<int>((groups + tiles - 1) / tiles);
    lanes = kBlockThreads / width;
    parts = static_cast<unsigned>(
        std::max<int64_t>(1, std::min(rows / (lanes * kRowsOfThread), kBlocks / (outer * tiles))));
    rows_of_part = (rows + parts - 1) / parts;
    if (parts == 1) return;
    partial = scratch();  // at most kBlocks * kMostGroups * kWidth * kSums values
    arrived = arrivals();
  }
  int64_t blocks() const { return matrices * tiles * parts; }

  SHOAL_DEVICE void operator()(const Block& block, Shared& shared) const {
    // Divisions of 64-bit numbers would be function calls.
    const auto index = static_cast<unsigned>(block.index());
    const unsigned part = index % parts, tile_of_all = index / parts;
    const int64_t tile = tile_of_all % tiles, matrix = tile_of_all / tiles;
    const int64_t begin = part * rows_of_part;
    const int64_t end = begin + rows_of_part < rows ? begin + rows_of_part : rows;
    block.each([&](int thread) {
      double sums[kSums][kWidth] = {};
      const int64_t group = tile * width + thread % width;
      if (thread < lanes * width && group < groups)
        add_rows(group, matrix * rows + begin + thread / width, matrix * rows + end, sums);
      put(sums, thread, shared);
    });
    fold_lanes(block, shared);
    if (parts > 1) {
      double* const of_tile = partial + tile_of_all * parts * kSums * kWidth * width;
      block.each([&](int thread) {
        for (int i = 0; i < kSums * kWidth && thread < width; ++i)
          of_tile[(part * kSums * kWidth + i) * width + thread] =
              shared.sums[i / kWidth][i % kWidth][thread];
      });
      if (!block.last_of(arrived + tile_of_all, parts)) return;
      block.each([&](int thread) {
        double sums[kSums][kWidth] = {};
        for (int p = thread / width; p < static_cast<int>(parts) && thread < lanes * width;
             p += lanes)
          for (int i = 0; i < kSums * kWidth; ++i)
            sums[i / kWidth][i % kWidth] +=
                of_tile[(p * kSums * kWidth + i) * width + thread % width];
        put(sums, thread, shared);
      });
      fold_lanes(block, shared);
    }
    block.each([&](int thread) {
      const int64_t group = tile * width + thread;
      if (thread >= width || group >= groups) return;
      for (int j = 0; j < kWidth; ++j) {
        double totals[kSums];
        for (int s = 0; s < kSums; ++s) totals[s] = shared.sums[s][j][thread];
        store(matrix, group * kWidth + j, totals);
      }
    });
  }

 private:
  // Adds the terms of the rows `row`, row + lanes, … before `end`.
  SHOAL_DEVICE void add_rows(int64_t group, int64_t row, int64_t end,
                             double (*sums)[kWidth]) const {
    auto lane = terms.lane(group);
    constexpr int kRows = Terms::kRows;
    for (; row + (kRows - 1) * lanes < end; row += kRows * lanes) {
      typename Terms::Packs packs[kRows];  // all loads come first, to wait for memory only once
      SHOAL_UNROLL
      for (int k = 0; k < kRows; ++k) packs[k] = lane.load(row + k * lanes);
      typename Terms::Few few[kSums][kWidth] = {};
      SHOAL_UNROLL
      for (int k = 0; k < kRows; ++k) lane.add(packs[k], few);
      add_to(sums, few);
    }
    for (; row < end; row += lanes) {
      typename Terms::Few few[kSums][kWidth] = {};
      lane.add(lane.load(row), few);
      add_to(sums, few);
    }
  }

  SHOAL_DEVICE static void add_to(double (*sums)[kWidth],
                                  const typename Terms::Few (*few)[kWidth]) {
    for (int s = 0; s < kSums; ++s)
      for (int j = 0; j < kWidth; ++j) sums[s][j] += static_cast<double>(few[s][j]);
  }

  SHOAL_DEVICE static void put(const double (*sums)[kWidth], int thread, Shared& shared) {
    for (int s = 0; s < kSums; ++s)
      for (int j = 0; j < kWidth; ++j) shared.sums[s][j][thread] = sums[s][j];
  }

  // Adds the sums of all lanes to those of lane 0.
  SHOAL_DEVICE void fold_lanes(const Block& block, Shared& shared) const {
    fold(block, lanes, width, [&](int thread, int other) {
      for (int s = 0; s < kSums; ++s)
        for (int j = 0; j < kWidth; ++j) shared.sums[s][j][thread] += shared.sums[s][j][other];
    });
  }

  int64_t matrices, rows, groups, rows_of_part;
  unsigned tiles, parts;
  int width, lanes;  // groups per block, and lanes that share its rows
  double* partial = nullptr;
  unsigned* arrived = nullptr;
  Terms terms;
  Store store;
};

// For each of `outer` matrices (rows×channels) and each channel, computes kSums sums over the rows.
// Then calls store(matrix, channel, totals) with the kSums sums of each channel. Of a group of
// kWidth channels, lane = terms.lane(group) loads a row with lane.load(row), which returns
// Terms::Packs, and lane.add(packs, sums) adds its terms to sums[kSums][kWidth] of type Terms::Few.
// `row` is numbered across all matrices. A thread loads Terms::kRows rows at once.
template <int kSums, int kWidth, class Terms, class Store>
void column_sums(int64_t outer, int64_t rows, int64_t channels, const Launch& launch,
                 const Terms& terms, const Store& store) {
  using Kernel = ColumnSums<kSums, kWidth, Terms, Store>;
  if (outer <= 0 || channels <= 0) return;
  const Kernel kernel(outer, rows, channels, terms, store);
  for_each_block<typename Kernel::Shared>(kernel.blocks(), launch, kernel);
}

}  // namespace shoal::ops::cuda_kernels
