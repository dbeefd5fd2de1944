// Kernels for AVX2 and BMI2. The IDCT handles two blocks at once, one in each half of the
// registers. It computes sums of two products with one multiply-add of 16-bit pairs (vpmaddwd).
#include <immintrin.h>

#include "data/jpeg/entropy_loops.h"
#include "data/jpeg/idct.h"

namespace shoal::data::jpeg {
namespace {

inline __m256i load32(const void* from) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(from));
}
inline __m128i load16(const void* from) {
  return _mm_loadu_si128(static_cast<const __m128i*>(from));
}
inline void store16(void* to, __m128i x) {
  _mm_storeu_si128(static_cast<__m128i*>(to), x);
}

uint8_t* unstuff(const uint8_t* from, const uint8_t* to, uint8_t* out) {
  const __m256i all_ones = _mm256_set1_epi8(-1);
  while (to - from >= 32) {
    const __m256i bytes = load32(from);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), bytes);
    const auto found =
        static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, all_ones)));
    const uint32_t whole = _tzcnt_u32(found);  // 32 if no byte is ff
    from += whole;
    out += whole;
    if (whole == 32) continue;
    if (to - from < 2 || from[1] != 0) return out;  // a marker
    ++out;                                          // the ff has been copied already
    from += 2;
  }
  while (from < to) {
    const uint8_t byte = *from++;
    if (byte == 0xff) {
      if (from == to || *from != 0) return out;
      ++from;
    }
    *out++ = byte;
  }
  return out;
}

// Returns two 16-bit factors for a multiply-add, repeated in all lanes.
inline __m256i weights(int32_t first, int32_t second) {
  return _mm256_set1_epi32(static_cast<int32_t>(static_cast<uint32_t>(first & 0xffff) |
                                                static_cast<uint32_t>(second) << 16));
}

template <bool high>
inline __m256i pairs(__m256i a, __m256i b) {
  return high ? _mm256_unpackhi_epi16(a, b) : _mm256_unpacklo_epi16(a, b);
}

// Runs one pass of the IDCT over the lower or upper four columns of each block. Writes eight
// registers of 32-bit sums, shifted right by `shift`.
template <bool high>
inline void half_pass(const __m256i* v, int shift, __m256i* out) {
  const __m256i round = _mm256_set1_epi32(1 << (shift - 1));
  const auto add = [](__m256i a, __m256i b) { return _mm256_add_epi32(a, b); };
  const auto subtract = [](__m256i a, __m256i b) { return _mm256_sub_epi32(a, b); };
  const auto sum = [](__m256i a, __m256i b) { return _mm256_madd_epi16(a, b); };
  // Widens 16-bit values to 32 bits with 13 fractional bits.
  const auto scaled = [](__m256i x) {
    return _mm256_srai_epi32(pairs<high>(_mm256_setzero_si256(), x), 3);
  };
  const __m256i v26 = pairs<high>(v[2], v[6]);
  const __m256i t2 = sum(v26, weights(k0541, k0541 - k1847));
  const __m256i t3 = sum(v26, weights(k0541 + k0765, k0541));
  const __m256i t0 = add(scaled(_mm256_add_epi16(v[0], v[4])), round);
  const __m256i t1 = add(scaled(_mm256_sub_epi16(v[0], v[4])), round);
  const __m256i e0 = add(t0, t3), e3 = subtract(t0, t3), e1 = add(t1, t2), e2 = subtract(t1, t2);
  const __m256i s = pairs<high>(_mm256_add_epi16(v[7], v[3]), _mm256_add_epi16(v[5], v[1]));
  const __m256i z3 = sum(s, weights(k1175 - k1961, k1175));
  const __m256i z4 = sum(s, weights(k1175, k1175 - k0390));
  const __m256i v71 = pairs<high>(v[7], v[1]), v53 = pairs<high>(v[5], v[3]);
  const __m256i o0 = add(sum(v71, weights(k0298 - k0899, -k0899)), z3);
  const __m256i o3 = add(sum(v71, weights(-k0899, k1501 - k0899)), z4);
  const __m256i o1 = add(sum(v53, weights(k2053 - k2562, -k2562)), z4);
  const __m256i o2 = add(sum(v53, weights(-k2562, k3072 - k2562)), z3);
  const auto shifted = [&](__m256i x) { return _mm256_srai_epi32(x, shift); };
  out[0] = shifted(add(e0, o3)), out[7] = shifted(subtract(e0, o3));
  out[1] = shifted(add(e1, o2)), out[6] = shifted(subtract(e1, o2));
  out[2] = shifted(add(e2, o1)), out[5] = shifted(subtract(e2, o1));
  out[3] = shifted(add(e3, o0)), out[4] = shifted(subtract(e3, o0));
}

inline void pass(__m256i* v, int shift) {
  __m256i low[8], high[8];
  half_pass<false>(v, shift, low);
  half_pass<true>(v, shift, high);
  for (int i = 0; i < 8; ++i) v[i] = _mm256_packs_epi32(low[i], high[i]);
}

// Transposes the 8 × 8 block in each half of the registers. Each of the three rounds interleaves
// row i with row i + 4.
inline void transpose(__m256i* v) {
  __m256i a[8];
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 4; ++i) {
      a[2 * i] = _mm256_unpacklo_epi16(v[i], v[i + 4]);
      a[2 * i + 1] = _mm256_unpackhi_epi16(v[i], v[i + 4]);
    }
    for (int i = 0; i < 8; ++i) v[i] = a[i];
  }
}

// Saturates to bytes and transposes the block in each half of the registers. rows[i] gets rows 2i
// and 2i + 1.
inline void transpose_bytes(const __m256i* columns, __m256i* rows) {
  __m256i a[4], b[4];
  for (int i = 0; i < 4; ++i) a[i] = _mm256_packs_epi16(columns[2 * i], columns[2 * i + 1]);
  for (int i = 0; i < 2; ++i) {  // interleaves columns 0 and 4, 1 and 5, 2 and 6, 3 and 7
    b[2 * i] = _mm256_unpacklo_epi8(a[i], a[i + 2]);
    b[2 * i + 1] = _mm256_unpackhi_epi8(a[i], a[i + 2]);
  }
  for (int i = 0; i < 2; ++i) {  // interleaves all even columns, and all odd ones
    a[2 * i] = _mm256_unpacklo_epi8(b[i], b[i + 2]);
    a[2 * i + 1] = _mm256_unpackhi_epi8(b[i], b[i + 2]);
  }
  for (int i = 0; i < 2; ++i) {
    rows[2 * i] = _mm256_unpacklo_epi8(a[i], a[i + 2]);
    rows[2 * i + 1] = _mm256_unpackhi_epi8(a[i], a[i + 2]);
  }
}

// Dequantizes and transforms two blocks (IDCT). `first` and `second` may be the same.
void transform_two(const int16_t* first, const int16_t* second, const int16_t* quantization,
                   uint8_t* out_first, uint8_t* out_second, int64_t stride) {
  __m256i v[8];
  for (int i = 0; i < 8; ++i) {
    const __m256i both = _mm256_inserti128_si256(_mm256_castsi128_si256(load16(first + 8 * i)),
                                                 load16(second + 8 * i), 1);
    v[i] = _mm256_mullo_epi16(both, _mm256_broadcastsi128_si256(load16(quantization + 8 * i)));
  }
  pass(v, kFirstShift);
  transpose(v);
  pass(v, kSecondShift);
  const __m256i middle = _mm256_set1_epi8(-128);
  __m256i rows[4];
  transpose_bytes(v, rows);
  for (int i = 0; i < 8; i += 2) {
    const __m256i levels = _mm256_xor_si256(rows[i / 2], middle);
    const auto store_rows = [&](uint8_t* out, __m128i rows) {
      _mm_storel_epi64(reinterpret_cast<__m128i*>(out + i * stride), rows);
      _mm_storel_epi64(reinterpret_cast<__m128i*>(out + (i + 1) * stride),
                       _mm_unpackhi_epi64(rows, rows));
    };
    store_rows(out_first, _mm256_castsi256_si128(levels));
    store_rows(out_second, _mm256_extracti128_si256(levels, 1));
  }
}

inline bool only_dc(const int16_t* block) {
  const __m256i first = _mm256_and_si256(
      load32(block),
      _mm256_setr_epi16(0, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1));
  const __m256i any = _mm256_or_si256(_mm256_or_si256(first, load32(block + 16)),
                                      _mm256_or_si256(load32(block + 32), load32(block + 48)));
  return _mm256_testz_si256(any, any) != 0;
}

inline int32_t clamp(int32_t x, int32_t low, int32_t high) {
  return x < low ? low : x > high ? high : x;
}

// Writes the samples of a block that has only a DC coefficient.
void fill_block(int32_t dc, uint8_t* out, int64_t stride) {
  const int32_t once = clamp(static_cast<int16_t>(dc) * 4, -32768, 32767);
  const int32_t twice = (once * kOne + (1 << (kSecondShift - 1))) >> kSecondShift;
  const auto value = static_cast<uint64_t>(clamp(twice, -128, 127) + 128) * 0x0101010101010101u;
  for (int i = 0; i < 8; ++i) __builtin_memcpy(out + i * stride, &value, 8);
}

void transform(const BlockRow& row) {
  const int32_t blocks = row.horizontal * row.vertical;
  const int16_t* waiting = nullptr;
  uint8_t* waiting_out = nullptr;
  for (int64_t mcu = 0; mcu < row.mcus; ++mcu) {
    const int16_t* block = row.coefficients + mcu * row.mcu_step;
    for (int32_t b = 0; b < blocks; ++b, block += 64) {
      const int32_t down = b >= row.horizontal ? b / row.horizontal : 0;
      uint8_t* const out =
          row.out + down * 8 * row.stride + (mcu * row.horizontal + b - down * row.horizontal) * 8;
      if (only_dc(block)) {
        fill_block(block[0] * row.quantization[0], out, row.stride);
      } else if (!waiting) {
        waiting = block;
        waiting_out = out;
      } else {
        transform_two(waiting, block, row.quantization, waiting_out, out, row.stride);
        waiting = nullptr;
      }
    }
  }
  if (waiting)
    transform_two(waiting, waiting, row.quantization, waiting_out, waiting_out, row.stride);
}

inline __m256i widen(const uint8_t* from) {
  return _mm256_cvtepu8_epi16(load16(from));
}
inline __m256i times3(__m256i x) {
  return _mm256_add_epi16(x, _mm256_add_epi16(x, x));
}

// Upsamples 16 samples to 32. Each output sample is the weighted mean of `middle` (weight 3) and
// `left` or `right` (weight 1).
template <int shift>
inline void store_upsampled(__m256i left, __m256i middle, __m256i right, int32_t even_round,
                            int32_t odd_round, uint8_t* out) {
  const __m256i three = times3(middle);
  const auto round = [](int32_t x) { return _mm256_set1_epi16(static_cast<int16_t>(x)); };
  const __m256i even =
      _mm256_srli_epi16(_mm256_add_epi16(_mm256_add_epi16(three, left), round(even_round)), shift);
  const __m256i odd =
      _mm256_srli_epi16(_mm256_add_epi16(_mm256_add_epi16(three, right), round(odd_round)), shift);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out),
                      _mm256_or_si256(even, _mm256_slli_epi16(odd, 8)));
}

void upsample(const uint8_t* near, const uint8_t* far, uint8_t* out, int64_t count) {
  if (!far) {
    for (int64_t i = 0; i < count; i += 16)
      store_upsampled<2>(widen(near + i - 1), widen(near + i), widen(near + i + 1), 1, 2,
                         out + 2 * i);
    return;
  }
  const auto column = [&](int64_t i) {
    return _mm256_add_epi16(times3(widen(near + i)), widen(far + i));
  };
  for (int64_t i = 0; i < count; i += 16)
    store_upsampled<4>(column(i - 1), column(i), column(i + 1), 8, 7, out + 2 * i);
}

// Returns (a * f + b * g) / 2^16, rounded, for each 16-bit lane. `factors`: from weights(f, g).
inline __m256i scaled(__m256i a, __m256i b, __m256i factors) {
  const __m256i round = _mm256_set1_epi32(1 << 15);
  const auto half = [&](__m256i both) {
    return _mm256_srai_epi32(_mm256_add_epi32(_mm256_madd_epi16(both, factors), round), 16);
  };
  return _mm256_packs_epi32(half(_mm256_unpacklo_epi16(a, b)), half(_mm256_unpackhi_epi16(a, b)));
}

inline __m128i to_bytes(__m256i words) {
  const __m256i packed = _mm256_packus_epi16(words, words);
  return _mm256_castsi256_si128(_mm256_permute4x64_epi64(packed, 0x08));
}

// Interleaves 16 bytes of each channel and stores them as 16 RGB pixels.
inline void store_pixels(__m128i red, __m128i green, __m128i blue, uint8_t* out) {
  const __m128i r0 = _mm_setr_epi8(0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1, -1, 5);
  const __m128i r1 = _mm_setr_epi8(-1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1, 10, -1);
  const __m128i r2 = _mm_setr_epi8(-1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14, -1, -1, 15, -1, -1);
  const __m128i g0 = _mm_setr_epi8(-1, 0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1, -1);
  const __m128i g1 = _mm_setr_epi8(5, -1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1, 10);
  const __m128i g2 = _mm_setr_epi8(-1, -1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14, -1, -1, 15, -1);
  const __m128i b0 = _mm_setr_epi8(-1, -1, 0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1);
  const __m128i b1 = _mm_setr_epi8(-1, 5, -1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1);
  const __m128i b2 = _mm_setr_epi8(10, -1, -1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14, -1, -1, 15);
  const auto mix = [&](__m128i r, __m128i g, __m128i b) {
    return _mm_or_si128(_mm_or_si128(_mm_shuffle_epi8(red, r), _mm_shuffle_epi8(green, g)),
                        _mm_shuffle_epi8(blue, b));
  };
  store16(out, mix(r0, g0, b0));
  store16(out + 16, mix(r1, g1, b1));
  store16(out + 32, mix(r2, g2, b2));
}

void to_rgb(const uint8_t* y, const uint8_t* cb, const uint8_t* cr, uint8_t* out, int64_t count) {
  const __m256i middle = _mm256_set1_epi16(128);
  // Each factor is split into an integer and a remainder that fits into 16 bits. For red and blue,
  // the remainder needs only 15 fractional bits: for each of the 256 chroma values, the rounded
  // product is the same as with 16.
  const __m256i from_cr = _mm256_set1_epi16((kRedFromCr - 65536 + 1) / 2);
  const __m256i from_cb = _mm256_set1_epi16((kBlueFromCb - 2 * 65536) / 2);
  const __m256i green = weights(kGreenFromCb, kGreenFromCr + 65536);
  for (int64_t i = 0; i < count; i += 16) {
    const __m256i luma = widen(y + i);
    const __m256i b = _mm256_sub_epi16(widen(cb + i), middle);
    const __m256i r = _mm256_sub_epi16(widen(cr + i), middle);
    const __m256i red =
        _mm256_add_epi16(_mm256_add_epi16(luma, r), _mm256_mulhrs_epi16(r, from_cr));
    const __m256i blue = _mm256_add_epi16(_mm256_add_epi16(luma, _mm256_add_epi16(b, b)),
                                          _mm256_mulhrs_epi16(b, from_cb));
    const __m256i leaf = _mm256_add_epi16(_mm256_sub_epi16(luma, r), scaled(b, r, green));
    store_pixels(to_bytes(red), to_bytes(leaf), to_bytes(blue), out + 3 * i);
  }
}

void gray_to_rgb(const uint8_t* y, uint8_t* out, int64_t count) {
  for (int64_t i = 0; i < count; i += 16) {
    const __m128i luma = load16(y + i);
    store_pixels(luma, luma, luma, out + 3 * i);
  }
}

}  // namespace

extern const Kernels kAvx2Kernels;
const Kernels kAvx2Kernels{begin,     decode,   decode_two, walk,       unstuff,
                           transform, upsample, to_rgb,     gray_to_rgb};

}  // namespace shoal::data::jpeg
