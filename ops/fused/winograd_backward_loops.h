#pragma once
// The weight gradient of a convolution, by the transpose of the algorithm in winograd_loops.h:
// weight gradient = Gᵀ [Σ over tiles of (Bᵀ inputs B) * (A gradients Aᵀ)] G.

#include "ops/fused/winograd_loops.h"

namespace shoal::ops::fused::SHOAL_LOOPS {
namespace {

// For each of the kPoints² elements of a transformed tile: multiplies the inputs by the gradients,
// and sums over the tiles of a work item. Adds the results to `sums`: one matrix per element, with
// a row for each input channel. `inputs`: the item's input_band(). `gradients`: whole tiles of some
// channels of dy. `in`: channels of the input.
void add_winograd_products(const Band& inputs, const Band& gradients, const TileGrid& grid,
                           int64_t in, float* memory, float* sums) {
  const int64_t all = grid.count(), block = chunks(all, chunks(all, kWinogradTiles));
  for (int64_t first = 0; first < all; first += block) {
    const int64_t count = least(block, all - first);
    const TileMatrices x{memory, count, inputs.stride};
    const TileMatrices dy{x.at(kPoints * kPoints), count, gradients.stride};
    load_tiles<kPoints>(inputs, grid, first, transform_inputs, x);
    load_tiles<kTile>(gradients, grid, first, transform_gradients, dy);
    for (int64_t i = 0; i < kPoints * kPoints; ++i)
      multiply_transposed<Floats>(count, x.at(i), x.stride, in, dy.at(i), dy.stride, dy.stride,
                                  sums + i * x.stride * dy.stride, dy.stride);
  }
}

// Computes the weight gradients from `sums` and adds them to nine matrices, which begin at `to` and
// are `matrix` floats apart. Each matrix has `rows` rows of `columns` values; the rows are `stride`
// floats apart.
void add_winograd_gradient(const float* sums, int64_t rows, int64_t columns, float* to,
                           int64_t stride, int64_t matrix) {
  for (int64_t k = 0; k < rows; ++k)
    for (int64_t c = 0; c < columns; c += kLanes)
      transform_both<kPoints, 3>(
          transform_sums,
          [&](int y, int x) { return load(sums + ((kPoints * y + x) * rows + k) * columns + c); },
          [&](int y, int x, Vec value) {
            add_to(to + (3 * y + x) * matrix + k * stride + c, value);
          });
}

// Implements Loops::dense_weight_gradient (kernels.h). Computes the output channels in groups of
// winograd_columns(), which limits the scratch memory for the sums.
void winograd_weight_gradient(const Dense& op, int64_t begin, int64_t end, const Scratch& scratch) {
  const int64_t in = padded(op.in), out = padded(op.out), most_columns = winograd_columns(op);
  float* const sums = scratch.memory;
  TileCell* const memory = (TileCell*)(sums + kPoints * kPoints * in * most_columns);
  TileCell* const after_inputs = after_input_band(op, memory);
  for (int64_t n = 0; n < out; n += most_columns) {
    const int64_t columns = least(most_columns, out - n);
    const auto whole_tiles = [&](int64_t first, int64_t last) {
      return Band{after_inputs, tiled(last - first), tiled(op.out_width), columns, first, 0};
    };
    float* const after = (float*)whole_tiles(0, op.item.rows).end(op.item.images);
    __builtin_memset(sums, 0,
                     static_cast<size_t>(kPoints * kPoints * in * columns) * sizeof(float));
    for (int64_t i = begin; i < end; ++i) {
      const DenseItem item = dense_item(i, op.images, op.out_height, op.item);
      const Band inputs = load_input_band(op, item, memory);
      const Band gradients = whole_tiles(item.begin, item.end);
      load_gradient_band(op, item, item.end, n, gradients);
      add_winograd_products(inputs, gradients, {item.images, item.rows(), op.out_width}, op.in,
                            after, sums);
    }
    add_winograd_gradient(sums, in, columns, scratch.d_weights + n, out, in * out);
  }
}

}  // namespace
}  // namespace shoal::ops::fused::SHOAL_LOOPS
