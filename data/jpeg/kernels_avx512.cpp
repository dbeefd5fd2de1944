// Kernels for AVX-512 with VBMI and VBMI2. Contains only loops that are more than 10 % faster than
// those for AVX2.
#include <immintrin.h>

#include "data/jpeg/idct.h"
#include "data/jpeg/kernels.h"

namespace shoal::data::jpeg {

extern const Kernels kAvx2Kernels;
void take_avx512(Kernels& kernels);

namespace {

// Handles 64 bytes at a time. Leaves the last bytes, and everything from the first marker on, to
// the AVX2 version.
uint8_t* unstuff(const uint8_t* from, const uint8_t* to, uint8_t* out) {
  while (to - from > 64) {
    const __m512i bytes = _mm512_loadu_si512(from), next = _mm512_loadu_si512(from + 1);
    const uint64_t ff = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(-1));
    const uint64_t marker = ff & _mm512_test_epi8_mask(next, next);
    if (__builtin_expect(marker != 0, 0)) break;
    const uint64_t stuffing = ff << 1;
    _mm512_storeu_si512(out, _mm512_maskz_compress_epi8(~stuffing, bytes));
    // If the last of the 64 bytes is ff, its stuffing byte is the first of the next 64.
    const int64_t over = static_cast<int64_t>(ff >> 63);
    out += 64 - __builtin_popcountll(stuffing);
    from += 64 + over;
  }
  return kAvx2Kernels.unstuff(from, to, out);
}

inline __m512i widen(const uint8_t* from) {
  return _mm512_cvtepu8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}

inline __m512i to_bytes(__m512i words) {
  return _mm512_castsi256_si512(
      _mm512_cvtusepi16_epi8(_mm512_max_epi16(words, _mm512_setzero_si512())));
}

// Shuffle tables that interleave 32 pixels into 96 bytes of RGB, with one entry per output byte.
// red_green: index in the register of reds, or 64 + index in the register of greens. blue: index in
// the register of blues. is_blue: mask of the output bytes that are blue.
struct Interleaving {
  alignas(64) uint8_t red_green[128], blue[128];
  uint64_t is_blue[2];
};

constexpr Interleaving make_interleaving() {
  Interleaving all{};
  for (int n = 0; n < 128; ++n) {
    all.red_green[n] = static_cast<uint8_t>(n / 3 % 32 + n % 3 % 2 * 64);
    all.blue[n] = static_cast<uint8_t>(n / 3 % 32);
    if (n % 3 == 2) all.is_blue[n / 64] |= uint64_t{1} << n % 64;
  }
  return all;
}

constexpr Interleaving kInterleaving = make_interleaving();
constexpr uint64_t kThird = 0xffffffff;  // mask: the second store writes the last 32 of 96 bytes

inline uint64_t first_bytes(int64_t count) {
  return count >= 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
}

// Like to_rgb() of kernels_avx2.cpp, but handles 32 pixels at a time and interleaves the channels
// with byte shuffles of two registers.
void to_rgb(const uint8_t* y, const uint8_t* cb, const uint8_t* cr, uint8_t* out, int64_t count) {
  const __m512i middle = _mm512_set1_epi16(128), round = _mm512_set1_epi32(1 << 15);
  const __m512i from_cr = _mm512_set1_epi16((kRedFromCr - 65536 + 1) / 2);
  const __m512i from_cb = _mm512_set1_epi16((kBlueFromCb - 2 * 65536) / 2);
  const __m512i green = _mm512_set1_epi32(static_cast<int32_t>(
      (kGreenFromCb & 0xffff) | static_cast<uint32_t>(kGreenFromCr + 65536) << 16));
  const auto scaled = [&](__m512i both) {
    return _mm512_srai_epi32(_mm512_add_epi32(_mm512_madd_epi16(both, green), round), 16);
  };
  const __m512i places[2] = {_mm512_load_si512(kInterleaving.red_green),
                             _mm512_load_si512(kInterleaving.red_green + 64)};
  const __m512i blues[2] = {_mm512_load_si512(kInterleaving.blue),
                            _mm512_load_si512(kInterleaving.blue + 64)};
  for (int64_t i = 0; i < count; i += 32) {
    const __m512i luma = widen(y + i);
    const __m512i b = _mm512_sub_epi16(widen(cb + i), middle);
    const __m512i r = _mm512_sub_epi16(widen(cr + i), middle);
    const __m512i red =
        to_bytes(_mm512_add_epi16(_mm512_add_epi16(luma, r), _mm512_mulhrs_epi16(r, from_cr)));
    const __m512i blue = to_bytes(_mm512_add_epi16(_mm512_add_epi16(luma, _mm512_add_epi16(b, b)),
                                                   _mm512_mulhrs_epi16(b, from_cb)));
    const __m512i share = _mm512_packs_epi32(scaled(_mm512_unpacklo_epi16(b, r)),
                                             scaled(_mm512_unpackhi_epi16(b, r)));
    const __m512i leaf = to_bytes(_mm512_add_epi16(_mm512_sub_epi16(luma, r), share));
    const auto part = [&](int n) {
      return _mm512_mask_permutexvar_epi8(_mm512_permutex2var_epi8(red, places[n], leaf),
                                          kInterleaving.is_blue[n], blues[n], blue);
    };
    const int64_t bytes = 3 * (count - i);
    _mm512_mask_storeu_epi8(out + 3 * i, first_bytes(bytes), part(0));
    if (bytes > 64)
      _mm512_mask_storeu_epi8(out + 3 * i + 64, first_bytes(bytes - 64) & kThird, part(1));
  }
}

}  // namespace

void take_avx512(Kernels& kernels) {
  kernels.unstuff = unstuff;
  kernels.to_rgb = to_rgb;
}

}  // namespace shoal::data::jpeg
