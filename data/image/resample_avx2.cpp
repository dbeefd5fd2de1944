// Kernels for AVX2. One multiply-add of 16-bit pairs (vpmaddwd) handles two adjacent taps. To make
// such pairs, the vertical pass interleaves the bytes of two adjacent rows, and the horizontal pass
// shuffles the bytes of two adjacent pixels. Both passes widen the bytes to 16 bits. The horizontal
// pass handles four rows with the same weights, two per register.
#include <immintrin.h>

#include "data/image/resample_kernels.h"

namespace shoal::data {
namespace {

enum : int32_t { kLowBits = 11, kGroup = 2, kWords = 2 };

// Packs each pair of weights into two words: the high parts of both, then the low parts of both,
// because a weight does not fit into 16 bits. A weight is high * 2048 + low, with 0 <= low < 2048.
void pack(const int32_t* weights, int64_t rows, int32_t taps, int32_t* words) {
  const auto pair = [](int32_t first, int32_t second) {
    return static_cast<int32_t>(static_cast<uint32_t>(first & 0xffff) |
                                static_cast<uint32_t>(second) << 16);
  };
  constexpr int32_t kLow = (1 << kLowBits) - 1;
  for (int64_t row = 0; row < rows; ++row, weights += taps) {
    for (int32_t k = 0; k < taps; k += kGroup, words += kWords) {
      const int32_t first = weights[k], second = k + 1 < taps ? weights[k + 1] : 0;
      words[0] = pair(first >> kLowBits, second >> kLowBits);
      words[1] = pair(first & kLow, second & kLow);
    }
  }
}

// Sums of bytes times weights. high: with the high parts of the weights; low: with the low parts.
struct Sums {
  __m256i high, low;
};

inline void add(Sums& sums, __m256i pixels, __m256i high, __m256i low) {
  sums.high = _mm256_add_epi32(sums.high, _mm256_madd_epi16(pixels, high));
  sums.low = _mm256_add_epi32(sums.low, _mm256_madd_epi16(pixels, low));
}

inline __m256i total(const Sums& sums) {
  return _mm256_add_epi32(_mm256_slli_epi32(sums.high, kLowBits), sums.low);
}

inline __m256i levels(const Sums& sums) {
  return _mm256_srai_epi32(total(sums), kWeightBits);
}

// Loads 16 bytes of each of two rows.
inline __m256i load_rows(const uint8_t* first, const uint8_t* second) {
  const __m128i a = _mm_loadu_si128(reinterpret_cast<const __m128i*>(first));
  const __m128i b = _mm_loadu_si128(reinterpret_cast<const __m128i*>(second));
  return _mm256_inserti128_si256(_mm256_castsi128_si256(a), b, 1);
}

inline void store_pixel(uint8_t* out, int32_t value) {
  __builtin_memcpy(out, &value, 4);
}

// For each of two rows, pairs the bytes of two pixels by channel and widens them to 16 bits.
// `order` selects the two pixels.
inline __m256i pair_pixels(__m256i rows, __m128i order) {
  return _mm256_shuffle_epi8(rows, _mm256_broadcastsi128_si256(order));
}

void horizontal(const HorizontalPass& p) {
  const __m128i order01 = _mm_setr_epi8(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1);
  const __m128i order23 = _mm_setr_epi8(6, -1, 9, -1, 7, -1, 10, -1, 8, -1, 11, -1, -1, -1, -1, -1);
  const Sums start{_mm256_setzero_si256(), _mm256_set1_epi32(1 << (kWeightBits - 1))};
  // Local copies: the compiler must assume that byte stores change the originals.
  const uint8_t *const in0 = p.in[0], *const in1 = p.in[1], *const in2 = p.in[2],
                       *const in3 = p.in[3];
  uint8_t *out0 = p.out[0], *out1 = p.out[1], *out2 = p.out[2], *out3 = p.out[3];
  const int32_t* const starts = p.starts;
  const int32_t* weights = p.weights;
  const int32_t taps = p.taps;
  const int64_t count = p.count;
  for (int64_t x = 0; x < count; ++x) {
    int64_t at = 3 * static_cast<int64_t>(starts[x]);
    Sums upper = start, lower = start;  // upper: rows 0 and 1; lower: rows 2 and 3
    int32_t left = taps;
    for (; left >= 4; left -= 4, at += 12, weights += 2 * kWords) {
      const __m256i high01 = _mm256_set1_epi32(weights[0]), low01 = _mm256_set1_epi32(weights[1]);
      const __m256i high23 = _mm256_set1_epi32(weights[2]), low23 = _mm256_set1_epi32(weights[3]);
      const __m256i a = load_rows(in0 + at, in1 + at), b = load_rows(in2 + at, in3 + at);
      add(upper, pair_pixels(a, order01), high01, low01);
      add(lower, pair_pixels(b, order01), high01, low01);
      add(upper, pair_pixels(a, order23), high23, low23);
      add(lower, pair_pixels(b, order23), high23, low23);
    }
    if (left > 0) {
      const __m256i high = _mm256_set1_epi32(weights[0]), low = _mm256_set1_epi32(weights[1]);
      add(upper, pair_pixels(load_rows(in0 + at, in1 + at), order01), high, low);
      add(lower, pair_pixels(load_rows(in2 + at, in3 + at), order01), high, low);
      weights += kWords;
    }
    const __m256i words = _mm256_packs_epi32(levels(upper), levels(lower));
    const __m256i pixels = _mm256_packus_epi16(words, words);
    const __m128i even = _mm256_castsi256_si128(pixels), odd = _mm256_extracti128_si256(pixels, 1);
    store_pixel(out0 + 3 * x, _mm_cvtsi128_si32(even));
    store_pixel(out1 + 3 * x, _mm_cvtsi128_si32(odd));
    store_pixel(out2 + 3 * x, _mm_extract_epi32(even, 1));
    store_pixel(out3 + 3 * x, _mm_extract_epi32(odd, 1));
  }
}

inline __m256i load(const uint8_t* in) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(in));
}

void vertical(const VerticalPass& p) {
  const __m256i zero = _mm256_setzero_si256();
  const Sums start{zero, _mm256_set1_epi32(1 << (kWeightBits - 1))};
  for (int64_t begin = 0; begin < p.bytes; begin += 32) {
    Sums sum0 = start, sum1 = start, sum2 = start, sum3 = start;
    const uint8_t* in = p.in + begin;
    const int32_t* weights = p.weights;
    for (int32_t k = 0; k < p.taps; k += kGroup, in += 2 * p.stride, weights += kWords) {
      const __m256i high = _mm256_set1_epi32(weights[0]), low = _mm256_set1_epi32(weights[1]);
      const __m256i a = load(in), b = load(in + p.stride);
      const __m256i first = _mm256_unpacklo_epi8(a, b), second = _mm256_unpackhi_epi8(a, b);
      add(sum0, _mm256_unpacklo_epi8(first, zero), high, low);
      add(sum1, _mm256_unpackhi_epi8(first, zero), high, low);
      add(sum2, _mm256_unpacklo_epi8(second, zero), high, low);
      add(sum3, _mm256_unpackhi_epi8(second, zero), high, low);
    }
    const __m256i first = _mm256_packs_epi32(levels(sum0), levels(sum1));
    const __m256i second = _mm256_packs_epi32(levels(sum2), levels(sum3));
    const __m256i bytes = _mm256_packus_epi16(first, second);
    if (p.bytes - begin >= 32) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(p.out + begin), bytes);
    } else {
      alignas(32) uint8_t last[32];
      _mm256_store_si256(reinterpret_cast<__m256i*>(last), bytes);
      __builtin_memcpy(p.out + begin, last, static_cast<uint64_t>(p.bytes - begin));
    }
  }
}

}  // namespace

extern const ResampleKernels kAvx2Resample;
const ResampleKernels kAvx2Resample{kGroup, kWords, pack, horizontal, vertical};

}  // namespace shoal::data
