#pragma once
// The weight gradient with Winograd's algorithm (winograd_loops.h). It is the transposed algorithm:
// weight gradient = Gᵀ [Σ over tiles of (Bᵀ inputs B) * (A gradients Aᵀ)] G.

#include "ops/fused/winograd_loops.h"

namespace shoal::ops::fused::SHOAL_LOOPS {
namespace {

// Adds the products of a work item to `sums`: kPoints² matrices of padded(in)×padded(out) floats.
// `inputs`: the item's input_band(). `gradients`: whole tiles of dy. `in`: channels.
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

// Implements Loops::winograd_gradient (kernels.h).
void winograd_gradient(float* sums, int64_t size, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; i += kLanes)
    transform_both<kPoints, 3>(
        transform_sums, [&](int y, int x) { return load(sums + (kPoints * y + x) * size + i); },
        [&](int y, int x, Vec value) { store(sums + (3 * y + x) * size + i, value); });
}

// Adds to Scratch::d_weights what winograd_gradient() transforms to the gradient.
void winograd_weight_gradient(const Dense& op, int64_t begin, int64_t end, const Scratch& scratch) {
  const int64_t out = padded(op.out);
  TileCell* const memory = (TileCell*)scratch.memory;
  TileCell* const after_inputs = after_input_band(op, memory);
  const auto whole_tiles = [&](int64_t first, int64_t last) {
    return Band{after_inputs, tiled(last - first), tiled(op.out_width), out, first, 0};
  };
  float* const after = (float*)whole_tiles(0, op.item.rows).end(op.item.images);
  for (int64_t i = begin; i < end; ++i) {
    const DenseItem item = dense_item(i, op.images, op.out_height, op.item);
    const Band inputs = load_input_band(op, item, memory);
    const Band gradients = whole_tiles(item.begin, item.end);
    load_gradient_band(op, item, item.end, gradients);
    add_winograd_products(inputs, gradients, {item.images, item.rows(), op.out_width}, op.in, after,
                          scratch.d_weights);
  }
}

}  // namespace
}  // namespace shoal::ops::fused::SHOAL_LOOPS
