#pragma once
// Winograd's F(4×4, 3×3) (https://arxiv.org/abs/1509.09308) for 3×3 convolutions with stride 1. It
// computes tiles of 4×4 outputs from 6×6 inputs with 36 instead of 144 multiplications per pair of
// channels:
//
//   outputs = Aᵀ [(G weights Gᵀ) * (Bᵀ inputs B)] A
//
// `*` is element-wise. With many tiles and channels, `*` becomes one matrix product for each of
// the 36 elements. A, B and G interpolate polynomials at 0, ±3/4, ±3/2 and ∞. With these points,
// rounding errors are smaller than with 0, ±1, ±2 and ∞.

#include "ops/fused/band_loops.h"

namespace shoal::ops::fused::SHOAL_LOOPS {
namespace {

constexpr int kTile = kWinogradTile, kPoints = kTile + 2;  // outputs and inputs per side of a tile
constexpr float kP = 0.75f, kQ = 1.5f;                     // interpolation points ±kP, ±kQ
constexpr float kP2 = kP * kP, kQ2 = kQ * kQ;
constexpr float kOfP = 1 / (2 * kP2 * (kP2 - kQ2)), kOfQ = 1 / (2 * kQ2 * (kQ2 - kP2));

// Returns even + odd * x and even - odd * x.
inline void add_and_subtract(Vec even, Vec odd, float x, Vec& sum, Vec& difference) {
  sum = multiply_add(odd, splat(x), even);
  difference = multiply_add(odd, splat(-x), even);
}

// Multiplies by Bᵀ.
inline void transform_inputs(const Vec (&d)[kPoints], Vec (&to)[kPoints]) {
  const auto last = [&](int i) {
    return multiply_add(d[i], splat(kP2 * kQ2),
                        multiply_add(d[i + 2], splat(-kP2 - kQ2), d[i + 4]));
  };
  const auto without = [&](int i, float square) {
    return multiply_add(d[i], splat(-square), d[i + 2]);
  };
  to[0] = last(0);
  add_and_subtract(without(2, kQ2), without(1, kQ2), kP, to[1], to[2]);
  add_and_subtract(without(2, kP2), without(1, kP2), kQ, to[3], to[4]);
  to[5] = last(1);
}

// Multiplies by G.
inline void transform_weights(const Vec (&g)[3], Vec (&to)[kPoints]) {
  to[0] = g[0] * splat(1 / (kP2 * kQ2));
  const auto even = [&](float square, float factor) {
    return multiply_add(g[2], splat(square), g[0]) * splat(factor);
  };
  add_and_subtract(even(kP2, kOfP), g[1], kP * kOfP, to[1], to[2]);
  add_and_subtract(even(kQ2, kOfQ), g[1], kQ * kOfQ, to[3], to[4]);
  to[5] = g[2];
}

// Multiplies by Gᵀ.
inline void transform_sums(const Vec (&m)[kPoints], Vec (&to)[3]) {
  const Vec sum_p = (m[1] + m[2]) * splat(kOfP), sum_q = (m[3] + m[4]) * splat(kOfQ);
  to[0] = multiply_add(m[0], splat(1 / (kP2 * kQ2)), sum_p + sum_q);
  to[1] = multiply_add(m[1] - m[2], splat(kP * kOfP), (m[3] - m[4]) * splat(kQ * kOfQ));
  to[2] = multiply_add(sum_p, splat(kP2), multiply_add(sum_q, splat(kQ2), m[5]));
}

// Multiplies by A.
inline void transform_gradients(const Vec (&d)[kTile], Vec (&to)[kPoints]) {
  to[0] = d[0];
  const auto sum = [&](int i, float square) { return multiply_add(d[i + 2], splat(square), d[i]); };
  add_and_subtract(sum(0, kP2), sum(1, kP2), kP, to[1], to[2]);
  add_and_subtract(sum(0, kQ2), sum(1, kQ2), kQ, to[3], to[4]);
  to[5] = d[3];
}

// Multiplies by Aᵀ.
inline void transform_products(const Vec (&m)[kPoints], Vec (&to)[kTile]) {
  const Vec sum_p = m[1] + m[2], sum_q = m[3] + m[4];
  const Vec minus_p = (m[1] - m[2]) * splat(kP), minus_q = (m[3] - m[4]) * splat(kQ);
  to[0] = m[0] + sum_p + sum_q;
  to[1] = minus_p + minus_q;
  to[2] = multiply_add(sum_p, splat(kP2), sum_q * splat(kQ2));
  to[3] = multiply_add(minus_p, splat(kP2), multiply_add(minus_q, splat(kQ2), m[5]));
}

// Applies transform(values, results) to the rows and then to the columns of a matrix. get(y, x)
// returns its elements, and put(y, x, result) receives the results.
template <int from, int to, class Transform, class Get, class Put>
[[gnu::always_inline]] inline void transform_both(const Transform& transform, const Get& get,
                                                  const Put& put) {
  Vec rows[from][to];
#pragma GCC unroll 6
  for (int y = 0; y < from; ++y) {
    Vec row[from];
#pragma GCC unroll 6
    for (int x = 0; x < from; ++x) row[x] = get(y, x);
    transform(row, rows[y]);
  }
#pragma GCC unroll 6
  for (int x = 0; x < to; ++x) {
    Vec column[from], results[to];
#pragma GCC unroll 6
    for (int y = 0; y < from; ++y) column[y] = rows[y][x];
    transform(column, results);
#pragma GCC unroll 6
    for (int y = 0; y < to; ++y) put(y, x, results[y]);
  }
}

// Implements Loops::winograd_weights (kernels.h).
void winograd_weights(float* packed, int64_t size, int64_t begin, int64_t end) {
  const float* const taps = packed + (kPoints * kPoints - 9) * size;
  for (int64_t i = begin; i < end; i += kLanes)
    transform_both<3, kPoints>(
        transform_weights, [&](int y, int x) { return load(taps + (3 * y + x) * size + i); },
        [&](int y, int x, Vec value) { store(packed + (kPoints * y + x) * size + i, value); });
}

// The outputs of a work item, divided into tiles. `height`, `width`: outputs of each image. Tiles
// at the bottom and right edges may be partial.
struct TileGrid {
  int64_t images, height, width;

  int64_t count() const { return images * chunks(height, kTile) * chunks(width, kTile); }
};

// The first output of a tile.
struct TilePlace {
  int64_t image, y, x;
};

inline TilePlace place_of(const TileGrid& grid, int64_t tile) {
  const int64_t across = chunks(grid.width, kTile), down = chunks(grid.height, kTile);
  return {tile / (across * down), tile / across % down * kTile, tile % across * kTile};
}

// kPoints² matrices with one row per tile. A few floats separate them, so that their rows do not
// map to the same cache sets.
struct TileMatrices {
  float* memory;
  int64_t tiles, stride;

  float* at(int64_t point) const { return memory + point * (tiles * stride + kPadding); }
};

// Transforms size×size pixels of the band for each of the `to.tiles` tiles from `first` on, and
// stores the results in `to`.
template <int size, class Transform>
void load_tiles(const Band& band, const TileGrid& grid, int64_t first, const Transform& transform,
                const TileMatrices& to) {
  for (int64_t t = 0; t < to.tiles; ++t) {
    const TilePlace at = place_of(grid, first + t);
    const TileCell* const from =
        band.memory + ((at.image * band.rows + at.y) * band.columns + at.x) * band.stride;
    for (int64_t c = 0; c < band.stride; c += kLanes)
      transform_both<size, kPoints>(
          transform,
          [&](int y, int x) { return load(from + (y * band.columns + x) * band.stride + c); },
          [&](int y, int x, Vec value) {
            store(to.at(kPoints * y + x) + t * to.stride + c, value);
          });
  }
}

// Transforms the products back to the outputs of the tiles from `first` on, and passes the outputs
// to `epilogue`. `n`: the output channel in the first column of `products`.
template <class Epilogue>
void store_tiles(const TileMatrices& products, const TileGrid& grid, int64_t first, int64_t n,
                 Epilogue& epilogue) {
  for (int64_t t = 0; t < products.tiles; ++t) {
    const TilePlace at = place_of(grid, first + t);
    const int64_t rows = least(grid.height - at.y, kTile),
                  columns = least(grid.width - at.x, kTile);
    for (int64_t c = 0; c < products.stride; c += kLanes) {
      Vec outputs[kTile][kTile];
      transform_both<kPoints, kTile>(
          transform_products,
          [&](int y, int x) {
            return load(products.at(kPoints * y + x) + t * products.stride + c);
          },
          [&](int y, int x, Vec value) { outputs[y][x] = value; });
      for (int64_t y = 0; y < rows; ++y) {
        const int64_t m = (at.image * grid.height + at.y + y) * grid.width + at.x;
        for_blocks<kTile>(0, columns, [&]<int count>(int64_t x) {
          Vec column[count];
          for (int i = 0; i < count; ++i) column[i] = outputs[y][x + i];
          epilogue.template store_column<count>(column, m + x, n + c);
        });
      }
    }
  }
}

// Computes the outputs of a work item from its band, and passes them to `epilogue`. `weights`:
// kPoints² matrices. `memory`: scratch memory of winograd_floats() floats (needs.cpp).
template <class Epilogue>
void winograd(const Band& band, const TileGrid& grid, const Packed& weights, float* memory,
              Epilogue& epilogue) {
  const int64_t all = grid.count(), block = chunks(all, chunks(all, kWinogradTiles));
  const int64_t size = weights.depth * weights.width, last = kPoints * kPoints - 1;
  for (int64_t first = 0; first < all; first += block) {
    const int64_t count = least(block, all - first);
    const TileMatrices inputs{memory, count, band.stride};
    load_tiles<kPoints>(band, grid, first, transform_inputs, inputs);
    int64_t n = 0;
    for (int64_t p = 0; n < weights.width; ++p) {
      const int64_t lanes = panel_vectors((weights.width - n) / kLanes) * kLanes;
      const TileMatrices products{inputs.at(kPoints * kPoints), count, lanes};
      for (int64_t i = 0; i < kPoints * kPoints; ++i) {
        StoreTo store{products.at(i) - n, lanes};
        const float* const matrix = weights.values + i * size;
        const float* const next =
            i < last ? matrix + size + n * weights.depth
                     : weights.values + (n + lanes) % weights.width * weights.depth;
        multiply<Floats, true>(inputs.at(i), band.stride, count,
                               {matrix, weights.depth, weights.width}, p, p + 1, store, next);
      }
      store_tiles(products, grid, first, n, epilogue);
      n += lanes;
    }
  }
}

}  // namespace
}  // namespace shoal::ops::fused::SHOAL_LOOPS
