#pragma once
// k×k convolutions with one group, computed as matrix products without im2col. The products read
// the input pixels from a band: some activated rows of an image, or several images, surrounded by zeros. A table
// contains each output's place, which is the offset of its first input pixel in the band. Each
// kernel position (tap) adds an offset to the place.

#include "ops/fused/pointwise_loops.h"

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

// The part of the images that a work item computes: rows [begin, end) of `images` images from
// `image` on. If `images` is not 1, these are all rows.
struct DenseItem {
  int64_t image, images, begin, end;

  int64_t rows() const { return end - begin; }  // of each image
};

inline DenseItem dense_item(int64_t item, int64_t images, int64_t height, const ItemSize& size) {
  const int64_t groups = chunks(height, size.rows), begin = item % groups * size.rows;
  const int64_t image = item / groups * size.images;
  return {image, least(size.images, images - image), begin, least(begin + size.rows, height)};
}

// Rows of the activated input, or of dy, with zeros around them, for each image of a work item.
struct Band {
  TileCell* memory;
  int64_t rows, columns;  // size in pixels for each image
  int64_t stride;         // padded channels
  int64_t top, left;      // row and column of the first pixel in the image; may be negative

  int64_t words(int64_t pixels) const { return pixels * stride / TileProduct::kTogether; }
};

// Fills the band for `images` images of height×width pixels from `image` on. load(image, row, tile)
// loads one row of an image. Pixels outside the image become zero.
template <class Load>
inline void fill_band(const Band& band, int64_t image, int64_t images, int64_t height,
                      int64_t width, const Load& load) {
  const int64_t before = -band.left, after = band.columns - before - width;
  const auto clear = [&](TileCell* from, int64_t pixels) {
    if (pixels > 0)
      __builtin_memset(from, 0, static_cast<size_t>(pixels * band.stride) * sizeof(TileCell));
  };
  TileCell* row = band.memory;
  for (int64_t i = 0; i < images * band.rows; ++i, row += band.columns * band.stride) {
    const int64_t y = band.top + i % band.rows;
    if (y < 0 || y >= height) {
      clear(row, band.columns);
      continue;
    }
    clear(row, before);
    TileCell* const first = row + before * band.stride;
    clear(first + width * band.stride, after);
    load(image + i / band.rows, y, Tile<TileCell>{first, band.stride, kLanes});
  }
}

inline int64_t dense_taps(const Dense& op) {
  return op.kernel * op.kernel;
}

// Returns a band, not yet filled, for the input rows that output rows [begin, end) depend on. Here
// and in the functions below, `op` is the convolution on its read_pixels().
inline Band input_band(const Dense& op, int64_t begin, int64_t end, TileCell* memory) {
  return {memory,
          (end - 1 - begin) * op.stride + op.kernel,
          most(op.left + op.width, (op.out_width - 1) * op.stride + op.kernel),
          padded(op.in),
          begin * op.stride - op.top,
          -op.left};
}

// Returns the memory after the largest band of a work item.
inline float* after_input_band(const Dense& op, TileCell* memory) {
  const Band band = input_band(op, 0, op.item.rows, memory);
  return (float*)(memory + op.item.images * band.rows * band.columns * band.stride);
}

// Loads the input pixels that the outputs of an item depend on. `all`: the convolution on all
// pixels. `memory`: for the band, 64-byte aligned.
inline Band load_input_band(const Dense& all, const DenseItem& item, TileCell* memory) {
  const Dense op = read_pixels(all);
  const Band band = input_band(op, item.begin, item.end, memory);
  const int64_t step = all.stride / op.stride;
  fill_band(band, item.image, item.images, op.height, op.width,
            [&](int64_t image, int64_t y, const Tile<TileCell>& tile) {
              const int64_t row = (image * all.height + y * step) * all.width;
              Operand from = op.input;
              from.x = cells(op.input.x) + row * band.stride;
              load_operand<TileCell>(
                  from, {image, 0, op.width, 0, band.stride / kLanes, step * band.stride},
                  {.values = tile});
            });
  return band;
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
    for (int64_t t = 0; t < dense_taps(op); ++t)
      taps[t] = {tap_offset(op, band, t), op.weights.values + t * depth * out};
    output_places(op, band, item, places);
    const int64_t first = (item.image * op.out_height + item.begin) * op.out_width;
    StoreSums epilogue{cells(op.y) + first * out, out, sums, op.streams};
    multiply_gathered<TileProduct>(words(memory), places, item.images * item.rows() * op.out_width,
                                   taps, dense_taps(op), depth, out, epilogue);
    sums.flush(out, scratch.sums);
  }
  finish_streams();
}

}  // namespace
}  // namespace shoal::ops::fused::SHOAL_LOOPS
