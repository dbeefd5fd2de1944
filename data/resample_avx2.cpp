// AVX2. Two neighbouring taps are one multiply-add of 16-bit pairs (vpmaddwd), so bytes are widened
// into pairs (pixel k, pixel k + 1) per channel: by a byte shuffle in the horizontal pass, by
// interleaving two rows in the vertical one. Four rows go through the horizontal pass together and
// share the preparation of the weights.
#include <immintrin.h>

#include "data/resample_kernels.h"

namespace shoal::data {
namespace {

// The two low 128-bit halves of the result hold taps 0, 1 and taps 2, 3 of four pixels of 3 bytes.
inline __m256i widen_four_pixels(const uint8_t* in, __m256i pairs) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in));
  return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(bytes), pairs);
}

// Sum of the products with the high and with the low halves of the weights.
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

// One pixel: the two halves of the register hold different taps of it.
inline __m128i pixel(const Sums& sums) {
  const __m256i sum = total(sums);
  const __m128i whole =
      _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
  return _mm_srai_epi32(whole, kWeightBits);
}

inline void store_pixel(uint8_t* out, int32_t value) {
  __builtin_memcpy(out, &value, 4);
}

void horizontal(const HorizontalPass& p) {
  const __m256i pairs =
      _mm256_setr_epi8(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1, 6, -1, 9, -1, 7,
                       -1, 10, -1, 8, -1, 11, -1, -1, -1, -1, -1);
  const __m256i spread_high = _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1);
  const __m256i spread_low = _mm256_setr_epi32(2, 2, 2, 2, 3, 3, 3, 3);
  const int32_t half = 1 << (kWeightBits - 1);
  const Sums start{_mm256_setzero_si256(), _mm256_setr_epi32(half, half, half, half, 0, 0, 0, 0)};
  const int16_t* weights = p.weights;
  for (int64_t x = 0; x < p.count; ++x) {
    int64_t at = 3 * static_cast<int64_t>(p.starts[x]);
    Sums sum0 = start, sum1 = start, sum2 = start, sum3 = start;
    for (int32_t k = 0; k < p.taps; k += 4, at += 12, weights += 8) {
      const __m256i eight =
          _mm256_castsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(weights)));
      const __m256i high = _mm256_permutevar8x32_epi32(eight, spread_high);
      const __m256i low = _mm256_permutevar8x32_epi32(eight, spread_low);
      add(sum0, widen_four_pixels(p.in[0] + at, pairs), high, low);
      add(sum1, widen_four_pixels(p.in[1] + at, pairs), high, low);
      add(sum2, widen_four_pixels(p.in[2] + at, pairs), high, low);
      add(sum3, widen_four_pixels(p.in[3] + at, pairs), high, low);
    }
    const __m128i pixels = _mm_packus_epi16(_mm_packs_epi32(pixel(sum0), pixel(sum1)),
                                            _mm_packs_epi32(pixel(sum2), pixel(sum3)));
    store_pixel(p.out[0] + 3 * x, _mm_cvtsi128_si32(pixels));
    store_pixel(p.out[1] + 3 * x, _mm_extract_epi32(pixels, 1));
    store_pixel(p.out[2] + 3 * x, _mm_extract_epi32(pixels, 2));
    store_pixel(p.out[3] + 3 * x, _mm_extract_epi32(pixels, 3));
  }
}

inline __m256i load(const uint8_t* in) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(in));
}

inline __m256i broadcast_pair(const int16_t* weights) {
  int32_t pair;
  __builtin_memcpy(&pair, weights, 4);
  return _mm256_set1_epi32(pair);
}

inline __m256i levels(const Sums& sums) {
  return _mm256_srai_epi32(total(sums), kWeightBits);
}

void vertical(const VerticalPass& p) {
  const __m256i zero = _mm256_setzero_si256();
  const Sums start{zero, _mm256_set1_epi32(1 << (kWeightBits - 1))};
  for (int64_t begin = 0; begin < p.bytes; begin += 32) {
    Sums sum0 = start, sum1 = start, sum2 = start, sum3 = start;
    const uint8_t* in = p.in + begin;
    const int16_t* weights = p.weights;
    for (int32_t k = 0; k < p.taps; k += 2, in += 2 * p.stride, weights += 4) {
      const __m256i high = broadcast_pair(weights), low = broadcast_pair(weights + 2);
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

extern const ResampleKernels kAvx2Kernels;
const ResampleKernels kAvx2Kernels{horizontal, vertical};

}  // namespace shoal::data
