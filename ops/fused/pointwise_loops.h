#pragma once
// 1×1 convolutions, computed as matrix products over tiles of rows, and the squeeze-excite before
// them.

#include "ops/fused/gemm_loops.h"
#include "ops/fused/operand_loops.h"

namespace shoal::ops::fused::SHOAL_LOOPS {
namespace {

// The rows of one tile: `count` rows from row `row` on, numbered across all images. `image`: their
// image if group_rows() keeps tiles within an image, otherwise 0.
struct Rows {
  int64_t image, row, count;
};

inline Part part_of(const Rows& rows, int64_t stride) {
  return {rows.image, rows.row, rows.count, 0, stride / kLanes, stride};
}

// Calls work(rows) for each tile of a work item. With a squeeze-excite, the item is an image,
// otherwise a single tile.
template <class Work>
inline void for_each_tile(const Pointwise& op, int64_t item, const Work& work) {
  const int64_t group = group_rows(op), tiles = op.squeeze ? 1 : chunks(group, op.tile);
  const int64_t first = item / tiles * group, end = first + group;
  const int64_t begin = first + item % tiles * op.tile;
  const int64_t last = op.squeeze ? end : least(begin + op.tile, end);
  for (int64_t row = begin; row < last; row += op.tile)
    work(Rows{item / tiles, row, least(op.tile, last - row)});
}

// Epilogue of multiply(): stores the output, and adds the output and its square to the sums for the
// next batch norm.
struct StoreSums {
  Cell* y;  // output of the tile's first row
  int64_t stride;
  FloatSums sums;
  bool streams;

  template <int rows>
  void store_column(const Vec (&column)[rows], int64_t m, int64_t n) {
    Cell* to = y + m * stride + n;
    const int64_t step = stride;
    const bool past = streams;
    Vec first = splat(0), second = splat(0);
#pragma GCC unroll 16
    for (int i = 0; i < rows; ++i, to += step) {
      past ? stream(to, column[i]) : store(to, column[i]);
      first += column[i];
      second = multiply_add(column[i], column[i], second);
    }
    add_to(sums.first + n, first);
    add_to(sums.second + n, second);
  }
};

// Writes each channel's mean over the pixels of an image. The values are activated, but not
// multiplied by the gate.
void pool_image(const Operand& op, int64_t image, int64_t pixels, int64_t stride, float* mean) {
  const Vec share = splat(1.0f / static_cast<float>(pixels));
  for_activation(op.activation, [&](auto tag) {
    for (int64_t c = 0; c < stride; c += kLanes) store(mean + c, splat(0));
    for (int64_t row = 0; row < pixels; row += 8) {
      const Cell* x = cells(op.x) + (image * pixels + row) * stride;
      const int64_t count = least(8, pixels - row);
      for (int64_t c = 0; c < stride; c += kLanes) {
        Vec scale = splat(1), shift = splat(0), total = load(mean + c);
        if (op.norm) scale = load(op.norm->scale + c), shift = load(op.norm->shift + c);
        for (int64_t i = 0; i < count; ++i)
          total += activate<tag.value>(multiply_add(load(x + i * stride + c), scale, shift));
        store(mean + c, total);
      }
    }
  });
  for (int64_t c = 0; c < stride; c += kLanes) store(mean + c, load(mean + c) * share);
}

// Whether matrix products can read activations directly, without copying them to a tile.
constexpr bool kTilesAreCells = sizeof(Cell) == sizeof(TileCell);

// Returns the stored activations from element `from` on as a tile. Requires kTilesAreCells.
inline const TileCell* stored_tile(const void* activations, int64_t from) {
  return static_cast<const TileCell*>(activations) + from;
}

// Returns Σ a[c] b[c].
float dot(const float* a, const float* b, int64_t count) {
  Vec total = splat(0);
  for (int64_t c = 0; c < count; c += kLanes) total = multiply_add(load(a + c), load(b + c), total);
  return sum_of(total);
}

// Computes the squeeze-excite gate of one image.
void squeeze_image(const Pointwise& op, int64_t image) {
  const Squeeze& s = *op.squeeze;
  const int64_t stride = padded(op.in), narrow = padded(s.squeezed);
  float *pooled = s.pooled + image * stride, *gate = s.gate + image * stride;
  float *hidden = s.hidden + image * narrow, *values = s.squeezed_values + image * narrow;
  pool_image(op.input, image, op.pixels, stride, pooled);
  for (int64_t j = 0; j < s.squeezed; ++j)
    hidden[j] = dot(s.weight1 + j * stride, pooled, stride) + s.bias1[j];
  for (int64_t j = s.squeezed; j < narrow; ++j) hidden[j] = 0;
  for (int64_t j = 0; j < narrow; j += kLanes) {
    const Vec z = load(hidden + j);
    store(values + j, s.hard ? activate<Activation::relu>(z) : activate<Activation::silu>(z));
  }
  for (int64_t c = 0; c < stride; c += kLanes) store(gate + c, load(s.bias2 + c));
  for (int64_t j = 0; j < s.squeezed; ++j) {
    const Vec value = splat(values[j]);
    for (int64_t c = 0; c < stride; c += kLanes)
      store(gate + c, multiply_add(value, load(s.weight2 + j * stride + c), load(gate + c)));
  }
  for (int64_t c = 0; c < stride; c += kLanes) {
    const Vec z = load(gate + c);
    store(gate + c, s.hard ? hard_sigmoid(z) : sigmoid(z));
  }
}

void pointwise(const Pointwise& op, int64_t begin, int64_t end, const Scratch& scratch) {
  const int64_t in = padded(op.in), out = padded(op.out);
  const FloatSums sums{scratch.memory, scratch.memory + out};
  sums.clear(out);
  TileCell* const tile = (TileCell*)(scratch.memory + 2 * out);
  const bool direct = kTilesAreCells && op.input.norm == nullptr && op.input.gate == nullptr;
  const int64_t count = panels(out);
  for (int64_t item = begin; item < end; ++item) {
    if (op.squeeze) squeeze_image(op, item);
    for_each_tile(op, item, [&](const Rows& rows) {
      const Tile<TileCell> values{tile, in, kLanes};
      const Part part = part_of(rows, in);
      if (op.input.gate)
        load_operand<TileCell>(op.input, part, {.gated = values});
      else if (!direct)
        load_operand<TileCell>(op.input, part, {.values = values});
      StoreSums epilogue{cells(op.y) + rows.row * out, out, sums, op.streams};
      const TileCell* const from = direct ? stored_tile(op.input.x, rows.row * in) : tile;
      multiply<TileProduct>(words(from), in / TileProduct::kTogether, rows.count, op.weights, 0,
                            count, epilogue);
      sums.flush(out, scratch.sums);
    });
  }
  finish_streams();
}

}  // namespace
}  // namespace shoal::ops::fused::SHOAL_LOOPS
