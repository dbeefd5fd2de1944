// AVX-512's dot products of bytes (VNNI), in 256 bits: four rows at a time, a weight as two signed
// digits of base 256.
#include <immintrin.h>

#include "data/planar_kernels.h"

namespace shoal::data {

extern const PlanarKernels kAvx2Planar, kAvx512Planar;

namespace {

inline __m256i load(const uint8_t* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}

// Sums of the products with the high and with the low digits.
struct Sums {
  __m256i high, low;
};

inline void add(Sums& sums, __m256i pixels, __m256i high, __m256i low) {
  sums.high = _mm256_dpbusd_epi32(sums.high, pixels, high);
  sums.low = _mm256_dpbusd_epi32(sums.low, pixels, low);
}

inline __m256i levels(const Sums& sums) {
  return _mm256_srai_epi32(_mm256_add_epi32(_mm256_slli_epi32(sums.high, 8), sums.low),
                           kPlanarBits);
}

// Taps come in pairs: the last of an odd number of them stands alone.
void sum_rows(const RowSums& s) {
  const Sums start{_mm256_setzero_si256(), _mm256_set1_epi32(s.bias)};
  const int64_t stride = s.in_stride;
  for (int64_t row = 0; row < s.rows; ++row) {
    const uint8_t* const first = s.in + s.starts[row] * stride;
    const int16_t* const weights = s.weights + row * s.taps;
    uint8_t* const out = s.out + row * s.out_stride;
    for (int64_t x = 0; x < s.bytes; x += 32) {
      Sums sum0 = start, sum1 = start, sum2 = start, sum3 = start;
      const uint8_t* in = first + x;
      for (int32_t k = 0; k < s.taps; k += 4, in += 4 * stride) {
        const bool four = k + 4 <= s.taps;
        const __m128i words = four ? _mm_loadl_epi64(reinterpret_cast<const __m128i*>(weights + k))
                                   : _mm_loadu_si32(weights + k);
        const __m128i low = _mm_srai_epi16(_mm_slli_epi16(words, 8), 8);
        const __m128i high = _mm_srai_epi16(_mm_sub_epi16(words, low), 8);
        const __m256i high4 = _mm256_broadcastd_epi32(_mm_packs_epi16(high, high));
        const __m256i low4 = _mm256_broadcastd_epi32(_mm_packs_epi16(low, low));
        const __m256i a = load(in), b = load(in + stride);
        const __m256i c = four ? load(in + 2 * stride) : a, d = four ? load(in + 3 * stride) : b;
        const __m256i ab = _mm256_unpacklo_epi8(a, b), cd = _mm256_unpacklo_epi8(c, d);
        const __m256i ab_high = _mm256_unpackhi_epi8(a, b), cd_high = _mm256_unpackhi_epi8(c, d);
        add(sum0, _mm256_unpacklo_epi16(ab, cd), high4, low4);
        add(sum1, _mm256_unpackhi_epi16(ab, cd), high4, low4);
        add(sum2, _mm256_unpacklo_epi16(ab_high, cd_high), high4, low4);
        add(sum3, _mm256_unpackhi_epi16(ab_high, cd_high), high4, low4);
      }
      const __m256i even = _mm256_packs_epi32(levels(sum0), levels(sum1));
      const __m256i odd = _mm256_packs_epi32(levels(sum2), levels(sum3));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + x), _mm256_packus_epi16(even, odd));
    }
  }
}

void transpose(const uint8_t* in, int64_t in_stride, uint8_t* out, int64_t out_stride, int64_t rows,
               int64_t columns) {
  kAvx2Planar.transpose(in, in_stride, out, out_stride, rows, columns);
}

}  // namespace

const PlanarKernels kAvx512Planar{sum_rows, transpose};

}  // namespace shoal::data
