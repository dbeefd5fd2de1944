// Kernels for AVX-512 with VNNI, in 256-bit registers. One byte dot product (vpdpbusd: four
// unsigned pixels, four signed weights) handles four adjacent taps. Its weights have 8 bits, so our
// 24-bit weights are split into three signed digits of base 256. Pixels are arranged as in
// resample_avx2.cpp, but not widened.
#include <immintrin.h>

#include "data/image/resample_kernels.h"

namespace shoal::data {
namespace {

enum : int32_t { kGroup = 4, kWords = 3 };

// Splits each of four weights into three digits. Packs the four highest digits into the first word,
// the middle digits into the second, the lowest into the third.
inline void pack_group(__m128i weights, int32_t* words) {
  const __m128i low = _mm_srai_epi32(_mm_slli_epi32(weights, 24), 24);
  const __m128i rest = _mm_srai_epi32(_mm_sub_epi32(weights, low), 8);
  const __m128i middle = _mm_srai_epi32(_mm_slli_epi32(rest, 24), 24);
  const __m128i high = _mm_srai_epi32(_mm_sub_epi32(rest, middle), 8);
  words[0] = _mm_cvtsi128_si32(_mm_cvtepi32_epi8(high));
  words[1] = _mm_cvtsi128_si32(_mm_cvtepi32_epi8(middle));
  words[2] = _mm_cvtsi128_si32(_mm_cvtepi32_epi8(low));
}

void pack(const int32_t* weights, int64_t rows, int32_t taps, int32_t* words) {
  const auto rest = static_cast<__mmask8>((1 << taps % kGroup) - 1);
  for (int64_t row = 0; row < rows; ++row, weights += taps) {
    int32_t k = 0;
    for (; k + kGroup <= taps; k += kGroup, words += kWords)
      pack_group(_mm_loadu_si128(reinterpret_cast<const __m128i*>(weights + k)), words);
    if (k == taps) continue;
    pack_group(_mm_maskz_loadu_epi32(rest, weights + k), words);
    words += kWords;
  }
}

// Sums of bytes times weights, one for each of the three digits of the weights (see pack_group()).
struct Sums {
  __m256i high, middle, low;
};

inline void add(Sums& sums, __m256i pixels, const int32_t* words) {
  sums.high = _mm256_dpbusd_epi32(sums.high, pixels, _mm256_set1_epi32(words[0]));
  sums.middle = _mm256_dpbusd_epi32(sums.middle, pixels, _mm256_set1_epi32(words[1]));
  sums.low = _mm256_dpbusd_epi32(sums.low, pixels, _mm256_set1_epi32(words[2]));
}

inline __m256i levels(const Sums& sums) {
  const __m256i upper = _mm256_add_epi32(_mm256_slli_epi32(sums.high, 8), sums.middle);
  return _mm256_srai_epi32(_mm256_add_epi32(_mm256_slli_epi32(upper, 8), sums.low), kWeightBits);
}

// Loads 16 bytes of each of two rows. Uses a masked broadcast to keep the shuffle ports free.
inline __m256i load_rows(const uint8_t* first, const uint8_t* second) {
  const __m128i a = _mm_loadu_si128(reinterpret_cast<const __m128i*>(first));
  const __m128i b = _mm_loadu_si128(reinterpret_cast<const __m128i*>(second));
  return _mm256_mask_broadcast_i32x4(_mm256_castsi128_si256(a), 0xf0, b);
}

// Stores four pixels of each of two rows. Each input register contains one pixel of each row, with
// an unused fourth channel.
inline void store_pixels(__m256i pixel0, __m256i pixel1, __m256i pixel2, __m256i pixel3,
                         uint8_t* first, uint8_t* second) {
  const __m256i close_up = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1));
  const __m256i bytes = _mm256_shuffle_epi8(
      _mm256_packus_epi16(_mm256_packs_epi32(pixel0, pixel1), _mm256_packs_epi32(pixel2, pixel3)),
      close_up);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(first), _mm256_castsi256_si128(bytes));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(second), _mm256_extracti128_si256(bytes, 1));
}

// `kGroups`: number of tap groups per pixel if known at compile time; 0: computed from p.taps.
template <int kGroups>
inline void horizontal_groups(const HorizontalPass& p) {
  // Sorts four RGB pixels by channel.
  const __m256i order = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11, -1, -1, -1, -1));
  const __m256i zero = _mm256_setzero_si256();
  const Sums start{zero, zero, _mm256_set1_epi32(1 << (kWeightBits - 1))};
  // Local copies: the compiler must assume that byte stores change the originals.
  const uint8_t *const in0 = p.in[0], *const in1 = p.in[1], *const in2 = p.in[2],
                       *const in3 = p.in[3];
  uint8_t *const out0 = p.out[0], *const out1 = p.out[1], *const out2 = p.out[2],
                 *const out3 = p.out[3];
  const int32_t* const starts = p.starts;
  const int32_t* words = p.weights;
  const int32_t groups = kGroups > 0 ? kGroups : p.taps / kGroup;
  const int64_t count = p.count;
  struct Pixel {
    __m256i upper, lower;  // upper: rows 0 and 1; lower: rows 2 and 3
  };
  const auto pixel = [&](int64_t x) {
    Sums upper = start, lower = start;
    if (x >= count) return Pixel{zero, zero};
    int64_t at = 3 * static_cast<int64_t>(starts[x]);
    for (int32_t group = 0; group < groups; ++group, at += 3 * kGroup, words += kWords) {
      add(upper, _mm256_shuffle_epi8(load_rows(in0 + at, in1 + at), order), words);
      add(lower, _mm256_shuffle_epi8(load_rows(in2 + at, in3 + at), order), words);
    }
    return Pixel{levels(upper), levels(lower)};
  };
  for (int64_t x = 0; x < count; x += 4) {
    const Pixel a = pixel(x), b = pixel(x + 1), c = pixel(x + 2), d = pixel(x + 3);
    store_pixels(a.upper, b.upper, c.upper, d.upper, out0 + 3 * x, out1 + 3 * x);
    store_pixels(a.lower, b.lower, c.lower, d.lower, out2 + 3 * x, out3 + 3 * x);
  }
}

void horizontal(const HorizontalPass& p) {
  if (p.taps == kGroup)
    horizontal_groups<1>(p);
  else if (p.taps == 2 * kGroup)
    horizontal_groups<2>(p);
  else
    horizontal_groups<0>(p);
}

inline __m256i load(const uint8_t* in) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(in));
}

void vertical(const VerticalPass& p) {
  const __m256i zero = _mm256_setzero_si256();
  const Sums start{zero, zero, _mm256_set1_epi32(1 << (kWeightBits - 1))};
  const int64_t stride = p.stride;
  for (int64_t begin = 0; begin < p.bytes; begin += 32) {
    Sums sum0 = start, sum1 = start, sum2 = start, sum3 = start;
    const uint8_t* in = p.in + begin;
    const int32_t* words = p.weights;
    for (int32_t k = 0; k < p.taps; k += kGroup, in += kGroup * stride, words += kWords) {
      const __m256i a = load(in), b = load(in + stride), c = load(in + 2 * stride),
                    d = load(in + 3 * stride);
      const __m256i ab = _mm256_unpacklo_epi8(a, b), cd = _mm256_unpacklo_epi8(c, d);
      const __m256i ab_high = _mm256_unpackhi_epi8(a, b), cd_high = _mm256_unpackhi_epi8(c, d);
      add(sum0, _mm256_unpacklo_epi16(ab, cd), words);
      add(sum1, _mm256_unpackhi_epi16(ab, cd), words);
      add(sum2, _mm256_unpacklo_epi16(ab_high, cd_high), words);
      add(sum3, _mm256_unpackhi_epi16(ab_high, cd_high), words);
    }
    const __m256i first = _mm256_packs_epi32(levels(sum0), levels(sum1));
    const __m256i second = _mm256_packs_epi32(levels(sum2), levels(sum3));
    const __m256i bytes = _mm256_packus_epi16(first, second);
    const int64_t left = p.bytes - begin;
    if (left >= 32)
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(p.out + begin), bytes);
    else
      _mm256_mask_storeu_epi8(p.out + begin, (1u << left) - 1, bytes);
  }
}

}  // namespace

extern const ResampleKernels kAvx512Resample;
const ResampleKernels kAvx512Resample{kGroup, kWords, pack, horizontal, vertical};

}  // namespace shoal::data
