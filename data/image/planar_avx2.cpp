// Kernels for AVX2. The bytes of two rows are interleaved and widened to 16-bit pairs, so that one
// multiply-add handles two rows.
#include <immintrin.h>

#include "data/image/planar_kernels.h"

namespace shoal::data {
namespace {

inline __m256i load(const uint8_t* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}

void sum_rows(const RowSums& s) {
  const __m256i zero = _mm256_setzero_si256(), bias = _mm256_set1_epi32(s.bias);
  const auto levels = [](__m256i low, __m256i high) {
    return _mm256_packs_epi32(_mm256_srai_epi32(low, kPlanarBits),
                              _mm256_srai_epi32(high, kPlanarBits));
  };
  for (int64_t row = 0; row < s.rows; ++row) {
    const uint8_t* const first = s.in + s.starts[row] * s.in_stride;
    const int16_t* const weights = s.weights + row * s.taps;
    uint8_t* const out = s.out + row * s.out_stride;
    for (int64_t x = 0; x < s.bytes; x += 32) {
      __m256i sum0 = bias, sum1 = bias, sum2 = bias, sum3 = bias;
      const uint8_t* in = first + x;
      for (int32_t k = 0; k < s.taps; k += 2, in += 2 * s.in_stride) {
        int32_t pair;
        __builtin_memcpy(&pair, weights + k, 4);
        const __m256i both = _mm256_set1_epi32(pair);
        const __m256i a = load(in), b = load(in + s.in_stride);
        const __m256i low = _mm256_unpacklo_epi8(a, b), high = _mm256_unpackhi_epi8(a, b);
        const auto add = [&](__m256i& sum, __m256i words) {
          sum = _mm256_add_epi32(sum, _mm256_madd_epi16(words, both));
        };
        add(sum0, _mm256_unpacklo_epi8(low, zero));
        add(sum1, _mm256_unpackhi_epi8(low, zero));
        add(sum2, _mm256_unpacklo_epi8(high, zero));
        add(sum3, _mm256_unpackhi_epi8(high, zero));
      }
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + x),
                          _mm256_packus_epi16(levels(sum0, sum1), levels(sum2, sum3)));
    }
  }
}

// Transposes tiles of 16 × 16 bytes: each of four rounds interleaves row i with row i + 8.
void transpose(const uint8_t* in, int64_t in_stride, uint8_t* out, int64_t out_stride, int64_t rows,
               int64_t columns) {
  for (int64_t y = 0; y < rows; y += 16) {
    for (int64_t x = 0; x < columns; x += 16) {
      __m128i a[16], b[16];
      for (int i = 0; i < 16; ++i)
        a[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + (y + i) * in_stride + x));
      for (int round = 0; round < 4; ++round) {
        for (int i = 0; i < 8; ++i) {
          b[2 * i] = _mm_unpacklo_epi8(a[i], a[i + 8]);
          b[2 * i + 1] = _mm_unpackhi_epi8(a[i], a[i + 8]);
        }
        for (int i = 0; i < 16; ++i) a[i] = b[i];
      }
      for (int i = 0; i < 16; ++i)
        _mm_storeu_si128(reinterpret_cast<__m128i*>(out + (x + i) * out_stride + y), a[i]);
    }
  }
}

}  // namespace

extern const PlanarKernels kAvx2Planar;
const PlanarKernels kAvx2Planar{sum_rows, transpose};

}  // namespace shoal::data
