#pragma once
// Backward of k×k convolutions with one group: first the gradient of the weights, then the gradient
// of the input.

#include "ops/fused/dense_loops.h"
#include "ops/fused/pointwise_backward_loops.h"
#include "ops/fused/winograd_backward_loops.h"

namespace shoal::ops::fused::SHOAL_LOOPS {
namespace {

// Like multiply_transposed(), but row m of `a` begins at a + places[m], and the rows of `b` and `c`
// are contiguous.
template <class Product>
void multiply_gathered_transposed(int64_t rows, const float* a, const int64_t* places,
                                  int64_t height, const float* b, int64_t width, float* c) {
  const auto row = [=](int64_t m) { return a + places[m]; };
  multiply_transposed_rows<Product>(rows, row, height, b, width, width, c, width);
}

// The operands of the weight gradient for the output rows of a work item. The gradient of a kernel
// position (Tap) is Σ over m of (pixel of x at places[m] + Tap::offset) * (row m of dy).
// summed_outputs() writes `places`. For words, see gemm_loops.h.
struct SummedOutputs {
  const float *x, *dy;
  int64_t count;  // number of places and of rows of dy
  int64_t pixel;  // words per pixel of x
};

// Loads dy and returns the operands. Without SHOAL_DOT, x is the band itself. With SHOAL_DOT, each
// word belongs to two neighboring outputs of a row: a word of dy contains their gradients, a word
// of x contains the values of their input pixels. If a row has an odd number of outputs, the last
// gradient is paired with zero. `memory`: for dy and, with SHOAL_DOT, for x.
inline SummedOutputs summed_outputs(const Dense& op, const DenseItem& item, const Band& band,
                                    TileCell* memory, int64_t* places) {
  const int64_t out = padded(op.out), rows = item.images * item.rows(), width = op.out_width;
  const auto load_row = [&](int64_t y, TileCell* to) {
    const int64_t row = (item.image * op.out_height + item.begin + y) * width;
    load_gradient(op.dy, {item.image + y / item.rows(), row, width, 0, out / kLanes, out},
                  Tile<TileCell>{to, out, kLanes});
  };
#if defined(SHOAL_DOT)
  const int64_t in = band.stride, half = chunks(width, 2);
  float* const dy = (float*)memory;
  TileCell* const row = (TileCell*)(dy + rows * half * out);
  float* const x = (float*)(row + padded(width * out));
  for (int64_t y = 0; y < rows; ++y) {
    load_row(y, row);
    summed_rows(row, width, out, dy + y * half * out);
    const int64_t from = y / item.rows() * band.rows + y % item.rows() * op.stride;
    for (int64_t c = 0; c < half; ++c) *places++ = (from * band.columns + 2 * c * op.stride) * in;
  }
  const int64_t pixels = item.images * band.rows * band.columns;
  for (int64_t p = 0; p < pixels; ++p) {
    const Cell* const first = band.memory + p * in;
    const bool paired = p + op.stride < pixels;
    for (int64_t c = 0; c < in; c += kLanes) {
      const Ints low = (Ints)load(first + c);
      const Ints high = paired ? (Ints)load(first + op.stride * in + c) : Ints{};
      store(x + p * in + c, (Vec)(((low >> 16) & 0xffff) | high));
    }
  }
  return {x, dy, rows * half, in};
#else
  for (int64_t y = 0; y < rows; ++y) load_row(y, memory + y * width * out);
  output_places(op, band, item, places);
  return {band.memory, memory, rows * width, band.stride};
#endif
}

// d_weights: kernel²×padded(in)×padded(out).
void dense_weight_gradient(const Dense& all, int64_t begin, int64_t end, const Scratch& scratch) {
  if (all.winograd) return winograd_weight_gradient(all, begin, end, scratch);
  const Dense op = read_pixels(all);
  const int64_t out = padded(op.out), height = padded(op.in);
  int64_t* const places = (int64_t*)scratch.memory;
  TileCell* const band_memory =
      (TileCell*)(scratch.memory + padded(2 * most_pixels(op.item, op.out_width)));
  TileCell* const memory = after_input_band(op, band_memory);
  for (int64_t i = begin; i < end; ++i) {
    const DenseItem item = dense_item(i, op.images, op.out_height, op.item);
    const Band band = load_input_band(all, item, band_memory);
    const SummedOutputs s = summed_outputs(op, item, band, memory, places);
    for (int64_t t = 0; t < dense_taps(op); ++t) {
      const int64_t offset = (t / op.kernel * band.columns + t % op.kernel) * s.pixel;
      multiply_gathered_transposed<TileProduct>(s.count, s.x + offset, places, op.in, s.dy, out,
                                                scratch.d_weights + t * height * out);
    }
  }
}

// Epilogue of multiply_gathered(): stores the gradient of pixel m at to[m].
struct StoreAt {
  float* const* to;
  template <int rows>
  void store_column(const Vec (&column)[rows], int64_t m, int64_t n) {
    for (int i = 0; i < rows; ++i) store(to[m + i] + n, column[i]);
  }
};

// Writes the gradient of `count` input pixels as Downstream (kernels.h) specifies. `first`: the
// first of these pixels, numbered across all images; `step`: distance from one to the next.
// `gradient`: the gradient with respect to the activated input, count×stride.
void store_input_gradient(const Operand& input, const Downstream& dx, int64_t first, int64_t step,
                          int64_t count, int64_t stride, const float* gradient,
                          const FloatSums& sums) {
  Cell* const u = cells(dx.u) + first * stride;
  if (!input.norm) {
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t c = 0; c < stride; c += kLanes) {
        const Vec value = load(gradient + i * stride + c);
        Cell* const to = u + i * step * stride + c;
        store(to, dx.add ? load(to) + value : value);
      }
    }
    return;
  }
  const Cell* const x = cells(input.x) + first * stride;
  const Norm& norm = *input.norm;
  for_activation(input.activation, [&](auto tag) {
    for (int64_t c = 0; c < stride; c += kLanes) {
      const Vec scale = load(norm.scale + c), shift = load(norm.shift + c);
      const Vec mean = load(norm.mean + c);
      Vec of_u = splat(0), of_product = splat(0);
      for (int64_t i = 0; i < count; ++i) {
        const int64_t at = i * step * stride + c;
        const Vec raw = load(x + at);
        const Vec slope = activate_both<tag.value>(multiply_add(raw, scale, shift)).slope;
        const Vec value = load(gradient + i * stride + c) * slope;
        store(u + at, value);
        of_u += value;
        of_product = multiply_add(value, raw - mean, of_product);
      }
      add_to(sums.first + c, of_u);
      add_to(sums.second + c, of_product);
    }
  });
}

inline int64_t floor_div(int64_t a, int64_t b) {
  return (a >= 0 ? a : a - b + 1) / b;
}

// Returns a band, not yet filled, for the rows of dy that contribute to the gradients of input rows
// [begin, end). Here and below, `op` is a result of read_pixels() (kernels.h).
inline Band gradient_band(const Dense& op, int64_t begin, int64_t end, TileCell* memory) {
  if (op.winograd)
    return {memory,
            tiled(end - begin) + 2,
            most(2 - op.left + op.out_width, tiled(op.width) + 2),
            padded(op.out),
            begin + op.top - 2,
            op.left - 2};
  const int64_t left = least(floor_div(op.left - op.kernel + 1, op.stride), 0);
  const int64_t last = most((op.width - 1 + op.left) / op.stride, op.out_width - 1);
  const int64_t top = floor_div(begin + op.top - op.kernel + 1, op.stride);
  return {memory, (end - 1 + op.top) / op.stride + 1 - top, last - left + 1, padded(op.out), top,
          left};
}

// Computes the gradients of an item's pixels whose row modulo the stride is `of_row` and whose
// column modulo the stride is `of_column`. The same taps contribute to all of them. `places` and
// `to`: scratch memory.
void residue_gradient(const Dense& op, const Band& band, const DenseItem& item, int64_t of_row,
                      int64_t of_column, float* gradient, int64_t* places, float** to) {
  const int64_t in = padded(op.in), depth = tap_depth(op.out), s = op.stride;
  const int64_t first = item.begin + (of_row - item.begin % s + s) % s;
  Tap taps[kMostTaps];
  int64_t count = 0, pixels = 0;
  for (int64_t t = 0; t < dense_taps(op); ++t) {
    const int64_t y = first + op.top - t / op.kernel, x = of_column + op.left - t % op.kernel;
    if (floor_div(y, s) * s != y || floor_div(x, s) * s != x) continue;
    taps[count++] = {band.words((y / s - band.top) * band.columns + x / s - band.left),
                     op.weights.values + t * depth * in};
  }
  for (int64_t i = 0; i < item.images; ++i) {
    for (int64_t y = first; y < item.end; y += s) {
      const int64_t from = (i * band.rows + (y - first) / s) * band.columns;
      float* const row = gradient + (i * item.rows() + y - item.begin) * op.width * in;
      for (int64_t x = of_column; x < op.width; x += s) {
        places[pixels] = band.words(from + x / s);
        to[pixels++] = row + x * in;
      }
    }
  }
  StoreAt epilogue{to};
  multiply_gathered<TileProduct>(words(band.memory), places, pixels, taps, count, depth, in,
                                 epilogue);
}

// Writes the gradients of an item's pixels (`gradient`) to dx.u, and zeros for the pixels that a
// 1×1 convolution with a stride does not read. `all`: the convolution before read_pixels().
void store_item_gradient(const Dense& all, const DenseItem& item, const float* gradient,
                         const FloatSums& sums) {
  const Dense op = read_pixels(all);
  const int64_t in = padded(op.in), step = all.stride / op.stride;
  const int64_t pixels = all.height * all.width;
  if (step == 1)
    return store_input_gradient(op.input, op.dx, item.image * pixels + item.begin * op.width, 1,
                                item.images * item.rows() * op.width, in, gradient, sums);
  for (int64_t i = 0; i < item.images; ++i) {
    const int64_t image = (item.image + i) * pixels;
    for (int64_t y = item.begin; y < item.end; ++y, gradient += op.width * in) {
      const int64_t row = image + y * step * all.width;
      const int64_t next = y + 1 < op.height ? row + step * all.width : image + pixels;
      if (op.input.norm || !op.dx.add)
        __builtin_memset(cells(op.dx.u) + row * in, 0,
                         static_cast<size_t>((next - row) * in) * sizeof(Cell));
      store_input_gradient(op.input, op.dx, row, step, op.width, in, gradient, sums);
    }
  }
}

void dense_input_gradient(const Dense& all, int64_t begin, int64_t end, const Scratch& scratch) {
  const Dense op = read_pixels(all);
  const int64_t in = padded(op.in), pixels = most_pixels(op.input_item, op.width);
  const FloatSums sums{scratch.memory, scratch.memory + in};
  sums.clear(in);
  float* memory = scratch.memory + 2 * in;
  int64_t* const places = (int64_t*)memory;
  float** const to = (float**)(memory + padded(2 * pixels));
  float* const gradient = memory + 2 * padded(2 * pixels);
  TileCell* const band_memory = (TileCell*)(gradient + pixels * in);
  for (int64_t i = begin; i < end; ++i) {
    const DenseItem item = dense_item(i, op.images, op.height, op.input_item);
    const Band band = gradient_band(op, item.begin, item.end, band_memory);
    load_gradient_band(op, item, op.out_height, 0, band);
    if (op.winograd) {
      float* const after_band =
          (float*)gradient_band(op, 0, op.input_item.rows, band_memory).end(op.input_item.images);
      StoreTo epilogue{gradient, in};
      winograd(band, {item.images, item.rows(), op.width}, op.weights, after_band, epilogue);
    } else {
      for (int64_t y = 0; y < op.stride; ++y)
        for (int64_t x = 0; x < op.stride; ++x)
          residue_gradient(op, band, item, y, x, gradient, places, to);
    }
    store_item_gradient(all, item, gradient, sums);
    if (op.input.norm) sums.flush(in, scratch.sums);
  }
}

}  // namespace
}  // namespace shoal::ops::fused::SHOAL_LOOPS
