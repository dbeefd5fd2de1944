#pragma once
// Matrix products a × b. The matrix b is packed into panels of columns, each a few vectors wide:
// all rows of the first panel, then all rows of the second, and so on.
//
// Matrices consist of 4-byte words. `Product` determines what a word contains: a float (Floats), or
// two bfloat16 numbers that are neighbors in the summed dimension (Pairs).

#include "ops/fused/kernels.h"
#include "ops/fused/register_vectors.h"

namespace shoal::ops::fused::SHOAL_LOOPS {
namespace {

// Block sizes, chosen so that all sums of a block fit into the vector registers: AVX-512 has 32,
// the other instruction sets have 16.
constexpr int64_t kWidest = kLanes == 16 ? 4 : 2;  // maximum number of vectors in a panel
template <int vectors>
constexpr int kRows = kLanes == 16 ? (vectors == 4   ? 6
                                      : vectors == 3 ? 8
                                      : vectors == 2 ? 12
                                                     : 16)
                                   : 6;
constexpr int kSumRows = kLanes == 16 ? 8 : 4;  // rows of a block in multiply_transposed

struct Floats {
  static constexpr int64_t kTogether = 1;  // numbers in a word
  static Vec splat_word(const float* word) { return splat(*word); }
  static Vec add(Vec a, Vec b, Vec sum) { return multiply_add(a, b, sum); }
  // Returns word k of a column of `depth` numbers, which are `step` floats apart.
  static float word(const float* column, int64_t step, int64_t k, int64_t) {
    return column[k * step];
  }
};

#if defined(SHOAL_DOT)
struct Pairs {
  static constexpr int64_t kTogether = 2;
  static Vec splat_word(const float* word) {
    int32_t bits;
    __builtin_memcpy(&bits, word, sizeof bits);
    return (Vec)_mm512_set1_epi32(bits);
  }
  static Vec add(Vec a, Vec b, Vec sum) {
    return (Vec)_mm512_dpbf16_ps((__m512)sum, (__m512bh)a, (__m512bh)b);
  }
  static float word(const float* column, int64_t step, int64_t k, int64_t depth) {
    const float* const first = column + 2 * k * step;
    const __m128 numbers = _mm_setr_ps(*first, 2 * k + 1 < depth ? first[step] : 0, 0, 0);
    const __m128i halves = (__m128i)_mm_cvtneps_pbh(numbers);
    float word;
    __builtin_memcpy(&word, &halves, sizeof word);
    return word;
  }
};
typedef Pairs TileProduct;
#else
typedef Floats TileProduct;
#endif

// Returns a tile as words.
inline const float* words(const TileCell* tile) {
  return (const float*)tile;
}

// Returns the width, in vectors, of the panel that begins `left` vectors before the end of a row.
inline int64_t panel_vectors(int64_t left) {
  if (kWidest == 2) return left < 2 ? left : 2;
  return left == 4 ? 4 : left < 3 ? left : 3;
}

inline int64_t panels(int64_t width) {
  int64_t count = 0;
  for (int64_t left = padded(width) / kLanes; left > 0; left -= panel_vectors(left)) ++count;
  return count;
}

template <class Product>
void pack(const float* values, int64_t k_step, int64_t n_step, int64_t depth, int64_t width,
          int64_t begin, int64_t end, float* out) {
  const int64_t rows = chunks(depth, Product::kTogether);
  int64_t n = 0;
  for (int64_t p = 0; p < end; ++p) {
    const int64_t lanes = panel_vectors((padded(width) - n) / kLanes) * kLanes;
    const int64_t valid = least(lanes, most(width - n, 0));
    for (int64_t k = 0; p >= begin && k < rows; ++k) {
      float* const row = out + n * rows + k * lanes;
      const float* const from = values + n * n_step;
      for (int64_t j = 0; j < valid; ++j)
        row[j] = Product::word(from + j * n_step, k_step, k, depth);
      for (int64_t j = valid; j < lanes; ++j) row[j] = 0;
    }
    n += lanes;
  }
}

constexpr int64_t kLine = 16;  // words of a cache line

// Adds Σ over k < depth of a[row][k] * b[k, …] to sums[row]. `b`: a panel, `vectors` vectors wide.
// If `prefetches`, prefetches `depth` cache lines from `next` on.
template <class Product, bool prefetches = false, int rows, int vectors>
[[gnu::always_inline]] inline void accumulate(const float* const (&a)[rows], const float* b,
                                              int64_t depth, Vec (&sums)[rows][vectors],
                                              const float* next = nullptr) {
  for (int64_t k = 0; k < depth; ++k, b += vectors * kLanes) {
    if constexpr (prefetches) __builtin_prefetch(next + k * kLine, 0, 2);
    Vec columns[vectors];
#pragma GCC unroll 4
    for (int j = 0; j < vectors; ++j) columns[j] = load(b + j * kLanes);
#pragma GCC unroll 16
    for (int i = 0; i < rows; ++i) {
      const Vec row = Product::splat_word(a[i] + k);
#pragma GCC unroll 4
      for (int j = 0; j < vectors; ++j) sums[i][j] = Product::add(row, columns[j], sums[i][j]);
    }
  }
}

// Passes a block of sums to `epilogue`, one vector of columns at a time. The block's first element
// is (m, n).
template <int rows, int vectors, class Epilogue>
[[gnu::always_inline]] inline void store_sums(const Vec (&sums)[rows][vectors], Epilogue& epilogue,
                                              int64_t m, int64_t n) {
#pragma GCC unroll 4
  for (int j = 0; j < vectors; ++j) {
    Vec column[rows];
#pragma GCC unroll 16
    for (int i = 0; i < rows; ++i) column[i] = sums[i][j];
    epilogue.template store_column<rows>(column, m, n + j * kLanes);
  }
}

// Divides the rows [m, count) into blocks and calls block.operator()<n>(first) for each. n: number
// of rows in the block; first: its first row. n is `rows` as long as that many rows are left, then
// `rows` / 2, and so on.
template <int rows, class Block>
inline void for_blocks(int64_t m, int64_t count, const Block& block) {
  for (; count - m >= rows; m += rows) block.template operator()<rows>(m);
  if constexpr (rows > 1)
    if (m < count) for_blocks<rows / 2>(m, count, block);
}

// Multiplies `count` rows of a by one panel of b, which begins at column n. Passes the results to
// `epilogue`. If `prefetches`, prefetches panel `next`: a part of it with each block of rows.
template <class Product, int vectors, bool prefetches, class Epilogue>
void multiply_panel(const float* a, int64_t stride, int64_t count, int64_t depth,
                    const float* panel, const float* next, Epilogue& epilogue, int64_t n) {
  constexpr int64_t kParts = vectors * kLanes > kLine ? vectors * kLanes / kLine : 1;
  const float* const last = prefetches ? next + (kParts - 1) * depth * kLine : nullptr;
  for_blocks<kRows<vectors>>(0, count, [&]<int rows>(int64_t m) {
    const float* from[rows];
#pragma GCC unroll 16
    for (int i = 0; i < rows; ++i) from[i] = a + (m + i) * stride;
    Vec sums[rows][vectors] = {};
    accumulate<Product, prefetches>(from, panel, depth, sums, next);
    if constexpr (prefetches) next = next < last ? next + depth * kLine : last;
    store_sums(sums, epilogue, m, n);
  });
}

// Multiplies `count` rows of a by panels [begin, end) of b. Passes the results to `epilogue`.
// If `prefetches`, prefetches panel `next`, which the caller needs next.
template <class Product, bool prefetches = false, class Epilogue>
void multiply(const float* a, int64_t stride, int64_t count, const Packed& b, int64_t begin,
              int64_t end, Epilogue& epilogue, const float* next = nullptr) {
  int64_t n = 0;
  for (int64_t p = 0; p < end; ++p) {
    const int64_t vectors = panel_vectors((b.width - n) / kLanes);
    const float* panel = b.values + n * b.depth;
    if (p >= begin) {
      const int64_t depth = b.depth;
      if constexpr (kWidest == 4) {
        if (vectors == 4)
          multiply_panel<Product, 4, prefetches>(a, stride, count, depth, panel, next, epilogue, n);
        if (vectors == 3)
          multiply_panel<Product, 3, prefetches>(a, stride, count, depth, panel, next, epilogue, n);
      }
      if (vectors == 2)
        multiply_panel<Product, 2, prefetches>(a, stride, count, depth, panel, next, epilogue, n);
      if (vectors == 1)
        multiply_panel<Product, 1, prefetches>(a, stride, count, depth, panel, next, epilogue, n);
    }
    n += vectors * kLanes;
  }
}

// Epilogue of multiply(): stores the sums.
struct StoreTo {
  float* c;
  int64_t stride;
  template <int rows>
  void store_column(const Vec (&column)[rows], int64_t m, int64_t n) {
    for (int i = 0; i < rows; ++i) store(c + (m + i) * stride + n, column[i]);
  }
};

struct AddTo {
  float* c;
  int64_t stride;
  template <int rows>
  void store_column(const Vec (&column)[rows], int64_t m, int64_t n) {
    for (int i = 0; i < rows; ++i) add_to(c + (m + i) * stride + n, column[i]);
  }
};

void multiply_panels(const float* a, int64_t stride, int64_t rows, const Packed& b, int64_t begin,
                     int64_t end, float* c, int64_t c_stride) {
  AddTo epilogue{c, c_stride};
  multiply<Floats>(a, stride, rows, b, begin, end, epilogue);
}

// Computes one block of multiply_transposed_rows(): kSumRows rows of c, `vectors` vectors wide.
// a(m) returns a pointer to the block's first word in row m of a.
template <class Product, int vectors, class Rows>
[[gnu::always_inline]] inline void add_products(int64_t rows, const Rows& a, const float* b,
                                                int64_t b_stride, float* c, int64_t c_stride) {
  for (int64_t i = 0; i < kSumRows; ++i)
    for (int64_t j = 0; j < vectors * kLanes; j += kLine)
      __builtin_prefetch(c + i * c_stride + j, 1);
  Vec sums[kSumRows][vectors] = {};
  for (int64_t m = 0; m < rows; ++m, b += b_stride) {
    const float* const from = a(m);
    Vec columns[vectors];
#pragma GCC unroll 4
    for (int j = 0; j < vectors; ++j) columns[j] = load(b + j * kLanes);
#pragma GCC unroll 8
    for (int i = 0; i < kSumRows; ++i) {
      const Vec row = Product::splat_word(from + i);
#pragma GCC unroll 4
      for (int j = 0; j < vectors; ++j) sums[i][j] = Product::add(row, columns[j], sums[i][j]);
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < kSumRows; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < vectors; ++j) add_to(c + i * c_stride + j * kLanes, sums[i][j]);
  }
}

// Implements Loops::multiply_transposed (kernels.h). a(m) returns a pointer to row m of a.
template <class Product, class Rows>
[[gnu::always_inline]] inline void multiply_transposed_rows(int64_t rows, const Rows& a,
                                                            int64_t height, const float* b,
                                                            int64_t b_stride, int64_t width,
                                                            float* c, int64_t c_stride) {
  for (int64_t j = 0; j < width;) {
    const int64_t left = (width - j) / kLanes;
    const int64_t vectors = left == 4 ? 2 : least(left, 3);
    for (int64_t i = 0; i < height; i += kSumRows) {
      const auto from = [=](int64_t m) { return a(m) + i; };
      float* const to = c + i * c_stride + j;
      if (vectors == 3) add_products<Product, 3>(rows, from, b + j, b_stride, to, c_stride);
      if (vectors == 2) add_products<Product, 2>(rows, from, b + j, b_stride, to, c_stride);
      if (vectors == 1) add_products<Product, 1>(rows, from, b + j, b_stride, to, c_stride);
    }
    j += vectors * kLanes;
  }
}

template <class Product>
void multiply_transposed(int64_t rows, const float* a, int64_t a_stride, int64_t height,
                         const float* b, int64_t b_stride, int64_t width, float* c,
                         int64_t c_stride) {
  const auto row = [=](int64_t m) { return a + m * a_stride; };
  multiply_transposed_rows<Product>(rows, row, height, b, b_stride, width, c, c_stride);
}

}  // namespace
}  // namespace shoal::ops::fused::SHOAL_LOOPS
