#pragma once
// k×k convolutions with one group, computed as matrix products without im2col. The products read
// the input pixels from a band: some activated rows of an image, or several images, surrounded by
// zeros. A table contains each output's place, which is the offset of its first input pixel in the
// band. Each kernel position (tap) adds an offset to the place.

#include "ops/fused/winograd_loops.h"

namespace shoal::ops::fused::SHOAL_LOOPS {
namespace {

// A kernel position: the offset of its pixel from an output's place, in words (gemm_loops.h), and
// its weight matrix.
struct Tap {
  int64_t offset;
  const float* matrix;
};

constexpr int64_t kMostTaps = 49;

// Number of rows of one block: so small that the addresses of the rows stay in registers.
template <int vectors>
constexpr int kGatheredRows = vectors == 4   ? 6
                              : kLanes == 16 ? 8
                                             : 6;

// Computes the panel of outputs whose first column is n: the sum over all taps and k < depth of
// a[places[row] + tap.offset + k] * tap.matrix[k, …]. `outputs`: number of rows.
template <class Product, int vectors, class Epilogue>
void gather_panel(const float* a, const int64_t* places, int64_t outputs, const Tap* taps,
                  int64_t count, int64_t depth, Epilogue& epilogue, int64_t n) {
  for_blocks<kGatheredRows<vectors>>(0, outputs, [&]<int rows>(int64_t m) {
    Vec sums[rows][vectors] = {};
    for (int64_t t = 0; t < count; ++t) {
      const float* from[rows];
#pragma GCC unroll 8
      for (int i = 0; i < rows; ++i) from[i] = a + places[m + i] + taps[t].offset;
      accumulate<Product>(from, taps[t].matrix + n * depth, depth, sums);
    }
    store_sums(sums, epilogue, m, n);
  });
}

// Computes all panels for `outputs` rows. `width`: padded number of columns of the tap matrices.
template <class Product, class Epilogue>
void multiply_gathered(const float* a, const int64_t* places, int64_t outputs, const Tap* taps,
                       int64_t count, int64_t depth, int64_t width, Epilogue& epilogue) {
  for (int64_t n = 0; n < width;) {
    const int64_t vectors = panel_vectors((width - n) / kLanes);
    const auto run = [&]<int v>() {
      gather_panel<Product, v>(a, places, outputs, taps, count, depth, epilogue, n);
    };
    if constexpr (kWidest == 4) {
      if (vectors == 4) run.template operator()<4>();
      if (vectors == 3) run.template operator()<3>();
    }
    if (vectors == 2) run.template operator()<2>();
    if (vectors == 1) run.template operator()<1>();
    n += vectors * kLanes;
  }
}

inline int64_t dense_taps(const Dense& op) {
  return op.kernel * op.kernel;
}

// Writes the places of an item's outputs, in words from the start of the band.
inline void output_places(const Dense& op, const Band& band, const DenseItem& item,
                          int64_t* places) {
  for (int64_t i = 0; i < item.images; ++i)
    for (int64_t y = 0; y < item.rows(); ++y)
      for (int64_t x = 0; x < op.out_width; ++x)
        *places++ = band.words(((i * band.rows + y * op.stride) * band.columns + x * op.stride));
}

inline int64_t tap_offset(const Dense& op, const Band& band, int64_t tap) {
  return band.words(tap / op.kernel * band.columns + tap % op.kernel);
}

// Returns the number of words of a pixel with `channels` channels, without padding.
inline int64_t tap_depth(int64_t channels) {
  return chunks(channels, TileProduct::kTogether);
}

void dense(const Dense& all, int64_t begin, int64_t end, const Scratch& scratch) {
  const Dense op = read_pixels(all);
  const int64_t out = padded(op.out), depth = tap_depth(op.in);
  const FloatSums sums{scratch.memory, scratch.memory + out};
  sums.clear(out);
  int64_t* const places = (int64_t*)(scratch.memory + 2 * out);
  TileCell* const memory =
      (TileCell*)(scratch.memory + 2 * out + padded(2 * most_pixels(op.item, op.out_width)));
  Tap taps[kMostTaps];
  for (int64_t i = begin; i < end; ++i) {
    const DenseItem item = dense_item(i, op.images, op.out_height, op.item);
    const Band band = load_input_band(all, item, memory);
    const int64_t first = (item.image * op.out_height + item.begin) * op.out_width;
    StoreSums epilogue{cells(op.y) + first * out, out, sums, op.streams};
    if (op.winograd) {
      winograd(band, {item.images, item.rows(), op.out_width}, op.weights,
               (float*)after_input_band(op, memory), epilogue);
    } else {
      for (int64_t t = 0; t < dense_taps(op); ++t)
        taps[t] = {tap_offset(op, band, t), op.weights.values + t * depth * out};
      output_places(op, band, item, places);
      multiply_gathered<TileProduct>(words(memory), places,
                                     item.images * item.rows() * op.out_width, taps, dense_taps(op),
                                     depth, out, epilogue);
    }
    sums.flush(out, scratch.sums);
  }
  finish_streams();
}

}  // namespace
}  // namespace shoal::ops::fused::SHOAL_LOOPS
