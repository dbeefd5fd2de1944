#pragma once
// Backward of 1×1 convolutions and of the squeeze-excite before them.

#include "ops/fused/pointwise_loops.h"

namespace shoal::ops::fused::SHOAL_LOOPS {
namespace {

// Epilogue of multiply() for an input that is not deferred (Operand in kernels.h): stores the
// gradient to `u`, or adds it.
struct StorePlain {
  Cell* u;
  int64_t stride;
  bool add;
  template <int rows>
  void store_column(const Vec (&column)[rows], int64_t m, int64_t n) {
    Cell* to = u + m * stride + n;
    for (int i = 0; i < rows; ++i, to += stride) store(to, add ? column[i] + load(to) : column[i]);
  }
};

// Epilogue for a deferred input: stores u = gradient * slope, and sums u and u * (x - mean). `u`,
// `slopes` and `x` begin at the tile's first row.
struct StoreDeferred {
  Cell* u;
  const float* slopes;
  const Cell* x;
  const float* mean;
  int64_t stride;
  bool streams;
  FloatSums sums;

  template <int rows>
  void store_column(const Vec (&column)[rows], int64_t m, int64_t n) {
    const Vec center = load(mean + n);
    Cell* const to = u;
    const bool past = streams;
    Vec first = splat(0), second = splat(0);
    for (int i = 0; i < rows; ++i) {
      const int64_t at = (m + i) * stride + n;
      const Vec value = column[i] * load(slopes + at);
      past ? stream(to + at, value) : store(to + at, value);
      first += value;
      second = multiply_add(value, load(x + at) - center, second);
    }
    add_to(sums.first + n, first);
    add_to(sums.second + n, second);
  }
};

// The sums over one image that backward of squeeze-excite needs, `stride` values each: of
// gradient * value, u, u * (x - mean), slope and slope * (x - mean), in this order. u is
// gradient * slope.
struct GateSums {
  float* memory;
  int64_t stride;
  float* of(int kind) const { return memory + kind * stride; }
  void clear() const {
    __builtin_memset(memory, 0, static_cast<size_t>(5 * stride) * sizeof(float));
  }
};

// Like StoreDeferred, but for a gated input: computes GateSums instead of the batch norm's sums.
struct StoreGated {
  Cell* u;
  const TileCell* values;
  const float* slopes;
  const Cell* x;
  const float* mean;
  int64_t stride;
  bool streams;
  GateSums sums;

  template <int rows>
  void store_column(const Vec (&column)[rows], int64_t m, int64_t n) {
    const Vec center = load(mean + n);
    Cell* const to = u;
    const bool past = streams;
    Vec total[5] = {};
    for (int i = 0; i < rows; ++i) {
      const int64_t at = (m + i) * stride + n;
      const Vec slope = load(slopes + at), value = column[i] * slope;
      const Vec deviation = load(x + at) - center;
      past ? stream(to + at, value) : store(to + at, value);
      total[0] = multiply_add(column[i], load(values + at), total[0]);
      total[1] += value;
      total[2] = multiply_add(value, deviation, total[2]);
      total[3] += slope;
      total[4] = multiply_add(slope, deviation, total[4]);
    }
    for (int kind = 0; kind < 5; ++kind) add_to(sums.of(kind) + n, total[kind]);
  }
};

// Completes backward of squeeze-excite for one image, after the image's tiles. Computes d_excited,
// d_hidden and spread (Squeeze in kernels.h). Adds the image's part to the sums for the input's
// batch norm.
void squeeze_backward_image(const Pointwise& op, int64_t image, const GateSums& g, double* sums) {
  const Squeeze& s = *op.squeeze;
  const int64_t stride = padded(op.in), narrow = padded(s.squeezed);
  const float* gate = s.gate + image * stride;
  float *excited = s.d_excited + image * stride, *spread = s.spread + image * stride;
  float* hidden = s.d_hidden + image * narrow;
  for (int64_t c = 0; c < stride; c += kLanes) {
    const Vec value = load(gate + c), soft = value * (splat(1) - value);
    const Vec hard = soft > 0 ? splat(1 / 6.0f) : splat(0);
    store(excited + c, load(g.of(0) + c) * (s.hard ? hard : soft));
    store(spread + c, splat(0));
  }
  for (int64_t j = 0; j < narrow; j += kLanes) {
    const Vec z = load(s.hidden + image * narrow + j);
    store(hidden + j, s.hard ? activate_both<Activation::relu>(z).slope
                             : activate_both<Activation::silu>(z).slope);
  }
  for (int64_t j = s.squeezed; j < narrow; ++j) hidden[j] = 0;
  const float share = 1.0f / static_cast<float>(op.pixels);
  for (int64_t j = 0; j < s.squeezed; ++j) {
    hidden[j] *= dot(s.weight2 + j * stride, excited, stride);
    const Vec value = splat(hidden[j] * share);
    for (int64_t c = 0; c < stride; c += kLanes)
      store(spread + c, multiply_add(value, load(s.weight1 + j * stride + c), load(spread + c)));
  }
  for (int64_t c = 0; c < stride; ++c) {
    const double of_u = gate[c], of_slope = spread[c];
    sums[c] += of_u * g.of(1)[c] + of_slope * g.of(3)[c];
    sums[stride + c] += of_u * g.of(2)[c] + of_slope * g.of(4)[c];
  }
}

// The scratch memory for one tile.
struct BackwardTiles {
  TileCell *dy, *values, *gated;
  float* slopes;
  float *dy_pairs, *value_pairs;  // for summed_rows(), with SHOAL_DOT
};

inline BackwardTiles backward_tiles(const Pointwise& op, float* memory) {
  const int64_t of_in = op.tile * padded(op.in), of_out = op.tile * padded(op.out);
  const auto take = [&memory](int64_t floats) {
    float* const part = memory;
    memory += floats;
    return part;
  };
  constexpr int64_t per_float = TileProduct::kTogether;
  BackwardTiles t;
  t.dy = (TileCell*)take(of_out / per_float);
  t.values = (TileCell*)take(of_in / per_float);
  t.gated = (TileCell*)take(of_in / per_float);
  t.slopes = take(of_in);
  t.dy_pairs = per_float == 2 ? take(of_out / 2) : nullptr;
  t.value_pairs = per_float == 2 ? take(of_in / 2) : nullptr;
  return t;
}

// A tile as an operand of a matrix product that sums over the tile's rows. With SHOAL_DOT, each
// 32-bit word contains two bfloat16 values of one channel, from rows 2k and 2k + 1, so `count` is
// half the number of rows, rounded up.
struct SummedRows {
  const float* words;
  int64_t count;  // rows of words
};

// Returns a tile as SummedRows. With SHOAL_DOT, copies it to `pairs`, where each word holds the
// values of one channel from two rows.
inline SummedRows summed_rows(const TileCell* tile, int64_t rows, int64_t stride, float* pairs) {
#if defined(SHOAL_DOT)
  for (int64_t m = 0; m < rows; m += 2) {
    const Cell *even = tile + m * stride, *odd = even + stride;
    float* const to = pairs + m / 2 * stride;
    for (int64_t c = 0; c < stride; c += kLanes) {
      const Ints low = (Ints)load(even + c), high = m + 1 < rows ? (Ints)load(odd + c) : Ints{};
      store(to + c, (Vec)(((low >> 16) & 0xffff) | high));
    }
  }
  return {pairs, chunks(rows, 2)};
#else
  (void)stride, (void)pairs;
  return {tile, rows};
#endif
}

// Computes the gradient of the input for one tile.
void tile_gradient(const Pointwise& op, const Rows& rows, const BackwardTiles& t,
                   const FloatSums& sums, const GateSums& gates) {
  const int64_t in = padded(op.in), out = padded(op.out), count = panels(in);
  constexpr int64_t together = TileProduct::kTogether;
  Cell* u = cells(op.dx.u) + rows.row * in;
  const Cell* x = cells(op.input.x) + rows.row * in;
  if (op.squeeze) {
    StoreGated store{u, t.values, t.slopes, x, op.input.norm->mean, in, op.streams, gates};
    return multiply<TileProduct>(words(t.dy), out / together, rows.count, op.weights, 0, count,
                                 store);
  }
  if (op.input.norm) {
    StoreDeferred store{u, t.slopes, x, op.input.norm->mean, in, op.streams, sums};
    return multiply<TileProduct>(words(t.dy), out / together, rows.count, op.weights, 0, count,
                                 store);
  }
  StorePlain store{u, in, op.dx.add};
  multiply<TileProduct>(words(t.dy), out / together, rows.count, op.weights, 0, count, store);
}

void tile_backward(const Pointwise& op, const Rows& rows, const BackwardTiles& t,
                   const FloatSums& sums, const GateSums& gates, float* d_weights) {
  const int64_t in = padded(op.in), out = padded(op.out);
  load_gradient(op.dy, part_of(rows, out), Tile<TileCell>{t.dy, out, kLanes});
  const TileCell* values = t.values;
  if (op.input.norm || !kTilesAreCells) {
    const bool gated = op.input.gate != nullptr;
    load_operand<TileCell>(op.input, part_of(rows, in),
                           {{t.values, in, kLanes},
                            {gated ? t.gated : nullptr, in, kLanes},
                            {op.dx.u ? t.slopes : nullptr, in, kLanes}});
    if (gated) values = t.gated;
  } else {
    values = stored_tile(op.input.x, rows.row * in);
  }
  if (op.dx.u) tile_gradient(op, rows, t, sums, gates);
  if (!d_weights) return;
  const SummedRows x = summed_rows(values, rows.count, in, t.value_pairs);
  const SummedRows dy = summed_rows(t.dy, rows.count, out, t.dy_pairs);
  if (op.wide) {
    multiply_transposed<TileProduct>(x.count, x.words, in, op.in, dy.words, out, out, d_weights,
                                     out);
  } else {
    multiply_transposed<TileProduct>(x.count, dy.words, out, op.out, x.words, in, in, d_weights,
                                     in);
  }
}

void pointwise_backward(const Pointwise& op, int64_t begin, int64_t end, const Scratch& scratch) {
  const int64_t in = padded(op.in);
  const FloatSums sums{scratch.memory, scratch.memory + in};
  sums.clear(in);
  const GateSums gates{scratch.memory + 2 * in, in};
  const BackwardTiles t = backward_tiles(op, scratch.memory + 7 * in);
  const bool deferred = op.input.norm != nullptr && op.dx.u != nullptr;
  for (int64_t item = begin; item < end; ++item) {
    if (op.squeeze) gates.clear();
    for_each_tile(op, item, [&](const Rows& rows) {
      tile_backward(op, rows, t, sums, gates, scratch.d_weights);
      if (deferred && !op.squeeze) sums.flush(in, scratch.sums);
    });
    if (op.squeeze) squeeze_backward_image(op, item, gates, scratch.sums);
  }
  finish_streams();
}

}  // namespace
}  // namespace shoal::ops::fused::SHOAL_LOOPS
