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

inline __m128i fold(__m256i sum) {
  return _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
}

inline void store_pixel(uint8_t* out, int32_t value) {
  __builtin_memcpy(out, &value, 4);
}

void horizontal(const HorizontalPass& p) {
  const __m256i pairs =
      _mm256_setr_epi8(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1, 6, -1, 9, -1, 7,
                       -1, 10, -1, 8, -1, 11, -1, -1, -1, -1, -1);
  const __m256i spread = _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1);
  const int32_t half = 1 << (p.shift - 1);
  const __m256i rounding = _mm256_setr_epi32(half, half, half, half, 0, 0, 0, 0);
  const __m128i shift = _mm_cvtsi32_si128(p.shift);
  for (int64_t x = 0; x < p.count; ++x) {
    const int64_t offset = 3 * static_cast<int64_t>(p.starts[x]);
    const int16_t* weights = p.weights + x * p.taps;
    const uint8_t* in0 = p.in[0] + offset;
    const uint8_t* in1 = p.in[1] + offset;
    const uint8_t* in2 = p.in[2] + offset;
    const uint8_t* in3 = p.in[3] + offset;
    __m256i sum0 = rounding, sum1 = rounding, sum2 = rounding, sum3 = rounding;
    for (int32_t k = 0; k < p.taps; k += 4) {
      const __m128i four = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(weights + k));
      const __m256i w = _mm256_permutevar8x32_epi32(_mm256_castsi128_si256(four), spread);
      const int64_t at = 3 * static_cast<int64_t>(k);
      sum0 = _mm256_add_epi32(sum0, _mm256_madd_epi16(widen_four_pixels(in0 + at, pairs), w));
      sum1 = _mm256_add_epi32(sum1, _mm256_madd_epi16(widen_four_pixels(in1 + at, pairs), w));
      sum2 = _mm256_add_epi32(sum2, _mm256_madd_epi16(widen_four_pixels(in2 + at, pairs), w));
      sum3 = _mm256_add_epi32(sum3, _mm256_madd_epi16(widen_four_pixels(in3 + at, pairs), w));
    }
    const __m128i low =
        _mm_packs_epi32(_mm_sra_epi32(fold(sum0), shift), _mm_sra_epi32(fold(sum1), shift));
    const __m128i high =
        _mm_packs_epi32(_mm_sra_epi32(fold(sum2), shift), _mm_sra_epi32(fold(sum3), shift));
    const __m128i pixels = _mm_packus_epi16(low, high);
    store_pixel(p.out[0] + 3 * x, _mm_cvtsi128_si32(pixels));
    store_pixel(p.out[1] + 3 * x, _mm_extract_epi32(pixels, 1));
    store_pixel(p.out[2] + 3 * x, _mm_extract_epi32(pixels, 2));
    store_pixel(p.out[3] + 3 * x, _mm_extract_epi32(pixels, 3));
  }
}

inline __m256i load(const uint8_t* in) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(in));
}

void vertical(const VerticalPass& p) {
  const __m256i zero = _mm256_setzero_si256();
  const __m256i rounding = _mm256_set1_epi32(1 << (p.shift - 1));
  const __m128i shift = _mm_cvtsi32_si128(p.shift);
  for (int64_t begin = 0; begin < p.bytes; begin += 32) {
    __m256i sum0 = rounding, sum1 = rounding, sum2 = rounding, sum3 = rounding;
    const uint8_t* in = p.in + begin;
    for (int32_t k = 0; k < p.taps; k += 2, in += 2 * p.stride) {
      int32_t two;
      __builtin_memcpy(&two, p.weights + k, 4);
      const __m256i w = _mm256_set1_epi32(two);
      const __m256i a = load(in), b = load(in + p.stride);
      const __m256i low = _mm256_unpacklo_epi8(a, b), high = _mm256_unpackhi_epi8(a, b);
      sum0 = _mm256_add_epi32(sum0, _mm256_madd_epi16(_mm256_unpacklo_epi8(low, zero), w));
      sum1 = _mm256_add_epi32(sum1, _mm256_madd_epi16(_mm256_unpackhi_epi8(low, zero), w));
      sum2 = _mm256_add_epi32(sum2, _mm256_madd_epi16(_mm256_unpacklo_epi8(high, zero), w));
      sum3 = _mm256_add_epi32(sum3, _mm256_madd_epi16(_mm256_unpackhi_epi8(high, zero), w));
    }
    const __m256i low =
        _mm256_packs_epi32(_mm256_sra_epi32(sum0, shift), _mm256_sra_epi32(sum1, shift));
    const __m256i high =
        _mm256_packs_epi32(_mm256_sra_epi32(sum2, shift), _mm256_sra_epi32(sum3, shift));
    const __m256i bytes = _mm256_packus_epi16(low, high);
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
