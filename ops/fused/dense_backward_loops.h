#pragma once
// Backward of k×k convolutions with one group: first the gradient of the weights, then the gradient
// of the input.

#include "ops/fused/dense_loops.h"
#include "ops/fused/pointwise_backward_loops.h"

namespace shoal::ops::fused::SHOAL_LOOPS {
namespace {

// Like multiply_transposed(), but row m of a begins at a + places[m], and the rows of b and c are
// contiguous.
template <class Product>
void multiply_gathered_transposed(int64_t rows, const float* a, const int64_t* places,
                                  int64_t height, const float* b, int64_t width, float* c) {
  const auto row = [=](int64_t m) { return a + places[m]; };
  multiply_transposed_rows<Product>(rows, row, height, b, width, width, c, width);
}

// The operands of the weight gradient for the output rows of a work item. The gradient of a tap is
// Σ over m of (pixel of x at places[m] + offset of the tap) * (row m of dy). summed_outputs()
// writes `places`. gemm_loops.h defines words.
struct SummedOutputs {
  const float *x, *dy;
  int64_t count;  // number of places and of rows of dy
  int64_t pixel;  // words per pixel of x
};

// Loads dy and returns the operands. Without SHOAL_DOT, x is the band itself. With SHOAL_DOT, a
// word of x contains values of the input pixels of two neighboring outputs, and a word of dy
// contains the gradients of these outputs. If a row has an odd number of outputs, the last gradient
// is paired with zero. `memory`: for dy and, with SHOAL_DOT, for x.
inline SummedOutputs summed_outputs(const Dense& op, const DenseItem& item, const Band& band,
                                    TileCell* memory, int64_t* places) {
  const int64_t out = padded(op.out), rows = item.end - item.begin, width = op.out_width;
  const auto load_row = [&](int64_t y, TileCell* to) {
    const int64_t row = (item.image * op.out_height + item.begin + y) * width;
    load_gradient(op.dy, {item.image, row, width, 0, out / kLanes, out},
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
    for (int64_t c = 0; c < half; ++c) *places++ = (y * band.columns + 2 * c) * op.stride * in;
  }
  const int64_t height = (rows - 1) * op.stride + op.kernel;
  const int64_t pixels = height * band.columns;
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
  output_places(op, band, rows, places);
  return {band.memory, memory, rows * width, band.stride};
#endif
}

// d_weights: kernel²×padded(in)×padded(out).
void dense_weight_gradient(const Dense& op, int64_t begin, int64_t end, const Scratch& scratch) {
  const int64_t out = padded(op.out), height = padded(op.in);
  int64_t* const places = (int64_t*)scratch.memory;
  float* memory = scratch.memory + padded(2 * op.rows * op.out_width);
  const int64_t pixels = ((op.rows - 1) * op.stride + op.kernel) * input_columns(op);
  TileCell* const band_memory = (TileCell*)memory;
  memory += pixels * height;
  for (int64_t i = begin; i < end; ++i) {
    const DenseItem item = dense_item(i, op.out_height, op.rows);
    const Band band = load_input_band(op, item, band_memory);
    const SummedOutputs s = summed_outputs(op, item, band, (TileCell*)memory, places);
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

// Writes the gradient of the input as Downstream (kernels.h) specifies. `gradient`: the gradient
// with respect to the activated input.
void store_input_gradient(const Operand& input, const Downstream& dx, const Part& part,
                          const float* gradient, const FloatSums& sums) {
  const int64_t stride = part.stride;
  Cell* const u = cells(dx.u) + part.row * stride;
  if (!input.norm) {
    for (int64_t i = 0; i < part.count * stride; i += kLanes) {
      const Vec value = load(gradient + i);
      store(u + i, dx.add ? load(u + i) + value : value);
    }
    return;
  }
  const Cell* const x = cells(input.x) + part.row * stride;
  const Norm& norm = *input.norm;
  for_activation(input.activation, [&](auto tag) {
    for (int64_t c = 0; c < stride; c += kLanes) {
      const Vec scale = load(norm.scale + c), shift = load(norm.shift + c);
      const Vec mean = load(norm.mean + c);
      Vec first = splat(0), second = splat(0);
      for (int64_t i = c; i < part.count * stride; i += stride) {
        const Vec raw = load(x + i);
        const Vec slope = activate_both<tag.value>(multiply_add(raw, scale, shift)).slope;
        const Vec value = load(gradient + i) * slope;
        store(u + i, value);
        first += value;
        second = multiply_add(value, raw - mean, second);
      }
      add_to(sums.first + c, first);
      add_to(sums.second + c, second);
    }
  });
}

inline int64_t floor_div(int64_t a, int64_t b) {
  return (a >= 0 ? a : a - b + 1) / b;
}

// Returns a band, not yet filled, for the rows of dy that contribute to the gradients of the input
// rows from `begin` on.
inline Band gradient_band(const Dense& op, int64_t begin, TileCell* memory) {
  const int64_t left = least(floor_div(op.left - op.kernel + 1, op.stride), 0);
  const int64_t last = most((op.width - 1 + op.left) / op.stride, op.out_width - 1);
  return {memory, last - left + 1, padded(op.out),
          floor_div(begin + op.top - op.kernel + 1, op.stride), left};
}

// Computes the gradients of the pixels in rows [begin, end) whose row modulo the stride is `of_row`
// and whose column modulo the stride is `of_column`. The same taps contribute to all of them.
// `places` and `to`: scratch memory.
void residue_gradient(const Dense& op, const Band& band, int64_t begin, int64_t end, int64_t of_row,
                      int64_t of_column, float* gradient, int64_t* places, float** to) {
  const int64_t in = padded(op.in), depth = tap_depth(op.out), s = op.stride;
  const int64_t first = begin + (of_row - begin % s + s) % s;
  Tap taps[kMostTaps];
  int64_t count = 0, pixels = 0;
  for (int64_t t = 0; t < dense_taps(op); ++t) {
    const int64_t y = first + op.top - t / op.kernel, x = of_column + op.left - t % op.kernel;
    if (floor_div(y, s) * s != y || floor_div(x, s) * s != x) continue;
    taps[count++] = {band.words((y / s - band.top) * band.columns + x / s - band.left),
                     op.weights.values + t * depth * in};
  }
  for (int64_t y = first; y < end; y += s) {
    for (int64_t x = of_column; x < op.width; x += s) {
      places[pixels] = band.words((y - first) / s * band.columns + x / s);
      to[pixels++] = gradient + ((y - begin) * op.width + x) * in;
    }
  }
  StoreAt epilogue{to};
  multiply_gathered<TileProduct>(words(band.memory), places, pixels, taps, count, depth, in,
                                 epilogue);
}

void dense_input_gradient(const Dense& op, int64_t begin, int64_t end, const Scratch& scratch) {
  const int64_t in = padded(op.in), pixels = op.input_rows * op.width;
  const FloatSums sums{scratch.memory, scratch.memory + in};
  sums.clear(in);
  float* memory = scratch.memory + 2 * in;
  int64_t* const places = (int64_t*)memory;
  float** const to = (float**)(memory + padded(2 * pixels));
  float* const gradient = memory + 2 * padded(2 * pixels);
  TileCell* const band_memory = (TileCell*)(gradient + pixels * in);
  for (int64_t i = begin; i < end; ++i) {
    const DenseItem item = dense_item(i, op.height, op.input_rows);
    const Band band = gradient_band(op, item.begin, band_memory);
    fill_band(
        band, item.image, op.out_height, op.out_width, (item.end - 1 + op.top) / op.stride + 1,
        [&](const Part& part, const Tile<TileCell>& tile) { load_gradient(op.dy, part, tile); });
    for (int64_t y = 0; y < op.stride; ++y)
      for (int64_t x = 0; x < op.stride; ++x)
        residue_gradient(op, band, item.begin, item.end, y, x, gradient, places, to);
    const int64_t row = (item.image * op.height + item.begin) * op.width;
    const int64_t count = (item.end - item.begin) * op.width;
    store_input_gradient(op.input, op.dx, {item.image, row, count, 0, in / kLanes, in}, gradient,
                         sums);
    if (op.input.norm) sums.flush(in, scratch.sums);
  }
}

}  // namespace
}  // namespace shoal::ops::fused::SHOAL_LOOPS
