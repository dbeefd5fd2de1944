// Kernels for AVX2. Affine transforms handle two pixels at a time, one in each half of a register.
#include <immintrin.h>

#include "data/augment/kernels.h"
#include "data/augment/loops.h"

namespace shoal::data::augment {
namespace {

inline __m128i load(const uint8_t* from) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}

// Converts eight pixels per iteration, four in each half of a register. The weight of green (38470)
// does not fit into signed 16 bits, so half of this weight is applied twice: in a pair of red and
// green, and in a pair of blue and green.
void gray(const uint8_t* in, int64_t pixels, uint8_t* out) {
  const __m256i red_green = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0, -1, 1, -1, 3, -1, 4, -1, 6, -1, 7, -1, 9, -1, 10, -1));
  const __m256i blue_green = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(2, -1, 1, -1, 5, -1, 4, -1, 8, -1, 7, -1, 11, -1, 10, -1));
  const __m256i thrice = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0, 0, 0, 4, 4, 4, 8, 8, 8, 12, 12, 12, -1, -1, -1, -1));
  const __m256i of_red = _mm256_set1_epi32(19595 | 19235 << 16);
  const __m256i of_blue = _mm256_set1_epi32(7471 | 19235 << 16);
  const __m256i half = _mm256_set1_epi32(0x8000);
  int64_t i = 0;
  for (; i + 10 <= pixels; i += 8) {  // reads and writes 28 bytes, 24 of them used
    const __m256i bytes = _mm256_set_m128i(load(in + 3 * i + 12), load(in + 3 * i));
    const __m256i sum =
        _mm256_add_epi32(_mm256_madd_epi16(_mm256_shuffle_epi8(bytes, red_green), of_red),
                         _mm256_madd_epi16(_mm256_shuffle_epi8(bytes, blue_green), of_blue));
    const __m256i luma =
        _mm256_shuffle_epi8(_mm256_srli_epi32(_mm256_add_epi32(sum, half), 16), thrice);
    // The second store also overwrites the four bytes after these eight pixels. Writes the bytes of
    // `in` there, because `in` and `out` may be the same.
    const __m128i high = _mm_blend_epi16(_mm256_extracti128_si256(luma, 1),
                                         _mm256_extracti128_si256(bytes, 1), 0xc0);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 3 * i), _mm256_castsi256_si128(luma));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 3 * i + 12), high);
  }
  for (; i < pixels; ++i) {
    const uint8_t* const p = in + 3 * i;
    const auto luma =
        static_cast<uint8_t>((19595 * p[0] + 38470 * p[1] + 7471 * p[2] + 0x8000) >> 16);
    out[3 * i] = out[3 * i + 1] = out[3 * i + 2] = luma;
  }
}

// Fills each half of a register with one 32-bit value.
inline __m256i spread(int32_t low, int32_t high) {
  return _mm256_set_m128i(_mm_set1_epi32(high), _mm_set1_epi32(low));
}
inline __m256 spread(float low, float high) {
  return _mm256_set_m128(_mm_set1_ps(high), _mm_set1_ps(low));
}

// Packs two adjacent 16-bit weights into 32 bits.
inline int32_t pair(int32_t first, int32_t second) {
  return static_cast<int32_t>(static_cast<uint32_t>(first & 0xffff) | static_cast<uint32_t>(second)
                                                                          << 16);
}

// Converts two pixels, one in each half of `value`, to three bytes each and stores them. Overwrites
// one byte after them.
inline void store(__m256 value, uint8_t* out) {
  const __m256i whole =
      _mm256_cvttps_epi32(_mm256_mul_ps(value, _mm256_set1_ps(1.0F / static_cast<float>(kOne))));
  const __m256i words = _mm256_packs_epi32(whole, whole);
  const __m256i bytes = _mm256_packus_epi16(words, words);
  const int32_t low = _mm_cvtsi128_si32(_mm256_castsi256_si128(bytes));
  const int32_t high = _mm_cvtsi128_si32(_mm256_extracti128_si256(bytes, 1));
  __builtin_memcpy(out, &low, 4);
  __builtin_memcpy(out + 3, &high, 4);
}

// Shuffle masks that widen pixels 0 and 1 (or 2 and 3) to a pair of 16-bit values per channel.
inline __m256i first_pairs() {
  return _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1));
}
inline __m256i second_pairs() {
  return _mm256_broadcastsi128_si256(
      _mm_setr_epi8(6, -1, 9, -1, 7, -1, 10, -1, 8, -1, 11, -1, -1, -1, -1, -1));
}

// Finds the source positions of the next pixels and returns their number. Also repeats the last
// position, because the loops compute pixels in pairs and may compute one too many.
inline int64_t next_places(const AffineRow& row, int64_t begin, Places& places) {
  const int64_t count = row.count - begin < kBlock ? row.count - begin : kBlock;
  find_places(row, begin, count, places);
  if (count < kBlock) {
    places.offset[count] = places.offset[count - 1];
    places.x[count] = places.x[count - 1];
    places.y[count] = places.y[count - 1];
  }
  return count;
}

void bilinear(const AffineRow& row) {
  const __m256i pairs = first_pairs();
  Places places;
  int32_t weights[kBlock];
  for (int64_t begin = 0; begin < row.count; begin += kBlock) {
    const int64_t count = next_places(row, begin, places);
    for (int64_t i = 0; i < count; ++i) {
      const int32_t right = weight_of(places.x[i]);
      weights[i] = pair(kOne - right, right);
    }
    if (count < kBlock) weights[count] = weights[count - 1];
    for (int64_t i = 0; i < count; i += 2) {
      const uint8_t* const a = row.in + places.offset[i];
      const uint8_t* const b = row.in + places.offset[i + 1];
      const __m256i weight = spread(weights[i], weights[i + 1]);
      const __m256i above =
          _mm256_madd_epi16(_mm256_shuffle_epi8(_mm256_set_m128i(load(b), load(a)), pairs), weight);
      const __m256i below = _mm256_madd_epi16(
          _mm256_shuffle_epi8(_mm256_set_m128i(load(b + row.stride), load(a + row.stride)), pairs),
          weight);
      const __m256 down = spread(places.y[i], places.y[i + 1]);
      store(_mm256_add_ps(_mm256_cvtepi32_ps(above),
                          _mm256_mul_ps(down, _mm256_cvtepi32_ps(_mm256_sub_epi32(below, above)))),
            row.out + 3 * (begin + i));
    }
  }
}

void bicubic(const AffineRow& row) {
  const __m256i first = first_pairs(), second = second_pairs();
  Places places;
  int32_t low[kBlock], high[kBlock];
  float down0[kBlock], down2[kBlock], down3[kBlock];
  for (int64_t begin = 0; begin < row.count; begin += kBlock) {
    const int64_t count = next_places(row, begin, places);
    const int64_t worked = count < kBlock ? count + 1 : count;
    for (int64_t i = 0; i < worked; ++i) {
      const Cubic x = cubic_of(places.x[i]);
      const int32_t w0 = weight_of(x.first), w2 = weight_of(x.third), w3 = weight_of(x.fourth);
      low[i] = pair(w0, kOne - w0 - w2 - w3);
      high[i] = pair(w2, w3);
      const Cubic y = cubic_of(places.y[i]);
      down0[i] = y.first;
      down2[i] = y.third;
      down3[i] = y.fourth;
    }
    for (int64_t i = 0; i < count; i += 2) {
      const uint8_t* a = row.in + places.offset[i] - row.stride - 3;
      const uint8_t* b = row.in + places.offset[i + 1] - row.stride - 3;
      const __m256i left = spread(low[i], low[i + 1]), right = spread(high[i], high[i + 1]);
      __m256i sums[4];
      for (int k = 0; k < 4; ++k, a += row.stride, b += row.stride) {
        const __m256i bytes = _mm256_set_m128i(load(b), load(a));
        sums[k] = _mm256_add_epi32(_mm256_madd_epi16(_mm256_shuffle_epi8(bytes, first), left),
                                   _mm256_madd_epi16(_mm256_shuffle_epi8(bytes, second), right));
      }
      const auto weighted = [&](int k, float of_a, float of_b) {
        return _mm256_mul_ps(spread(of_a, of_b),
                             _mm256_cvtepi32_ps(_mm256_sub_epi32(sums[k], sums[1])));
      };
      __m256 value = _mm256_cvtepi32_ps(sums[1]);
      value = _mm256_add_ps(value, weighted(0, down0[i], down0[i + 1]));
      value = _mm256_add_ps(value, weighted(2, down2[i], down2[i + 1]));
      value = _mm256_add_ps(value, weighted(3, down3[i], down3[i + 1]));
      store(value, row.out + 3 * (begin + i));
    }
  }
}

}  // namespace

extern const Kernels kAvx2Kernels;
const Kernels kAvx2Kernels{gray, blend, stretch, map, smooth, box, bilinear, bicubic};

}  // namespace shoal::data::augment
