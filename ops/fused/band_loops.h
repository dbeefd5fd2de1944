#pragma once
// Bands: the pixels that dense convolutions read, in scratch memory.

#include "ops/fused/pointwise_loops.h"

namespace shoal::ops::fused::SHOAL_LOOPS {
namespace {

// The part of the images that a work item computes: rows [begin, end) of each of `images` images
// from `image` on. An item of several images contains all of their rows.
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
  int64_t stride;         // channels per pixel, padded
  int64_t top, left;      // image row and column of the band's first pixel; may be negative

  int64_t words(int64_t pixels) const { return pixels * stride / TileProduct::kTogether; }
  TileCell* end(int64_t images) const { return memory + images * rows * columns * stride; }
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

// Returns a band, not yet filled, for the input rows that output rows [begin, end) depend on. Here
// and in the functions below, `op` is a result of read_pixels() (kernels.h).
inline Band input_band(const Dense& op, int64_t begin, int64_t end, TileCell* memory) {
  const auto extent = [&](int64_t outputs) {
    return op.winograd ? tiled(outputs) + 2 : (outputs - 1) * op.stride + op.kernel;
  };
  return {memory,        extent(end - begin),        most(op.left + op.width, extent(op.out_width)),
          padded(op.in), begin * op.stride - op.top, -op.left};
}

// Returns the end of the largest input band that a work item can have at `memory`.
inline TileCell* after_input_band(const Dense& op, TileCell* memory) {
  return input_band(op, 0, op.item.rows, memory).end(op.item.images);
}

// Loads the input pixels that the outputs of an item depend on. `all`: the convolution
// before read_pixels(). `memory`: for the band, 64-byte aligned.
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

// Fills a band with dy of an item's images, for the channels from `channel` on. Rows from `height`
// on become zero.
inline void load_gradient_band(const Dense& op, const DenseItem& item, int64_t height,
                               int64_t channel, const Band& band) {
  fill_band(band, item.image, item.images, height, op.out_width,
            [&](int64_t image, int64_t y, const Tile<TileCell>& tile) {
              const int64_t row = (image * op.out_height + y) * op.out_width;
              load_gradient(
                  op.dy, {image, row, op.out_width, channel, band.stride / kLanes, padded(op.out)},
                  tile);
            });
}

}  // namespace
}  // namespace shoal::ops::fused::SHOAL_LOOPS
