#pragma once
// Constants of the integer IDCT (13 fractional bits) and of the color conversion (16 fractional
// bits). Source: the Independent JPEG Group's accurate integer method (C. Loeffler, A. Ligtenberg
// and G. Moschytz, "Practical Fast 1-D DCT Algorithms with 11 Multiplications", ICASSP 1989), and
// JFIF.

#include <stdint.h>

namespace shoal::data::jpeg {

enum : int32_t {
  kOne = 8192,  // 1.0
  k0298 = 2446,
  k0390 = 3196,
  k0541 = 4433,
  k0765 = 6270,
  k0899 = 7373,
  k1175 = 9633,
  k1501 = 12299,
  k1847 = 15137,
  k1961 = 16069,
  k2053 = 16819,
  k2562 = 20995,
  k3072 = 25172,
  kFirstShift = 11,   // keeps 2 fractional bits between the passes
  kSecondShift = 18,  // 13 + 2 + 3: also removes these 2 bits and the factor 8 of the two passes
};

enum : int32_t {
  kRedFromCr = 91881,     // 1.402
  kGreenFromCb = -22554,  // -0.34414
  kGreenFromCr = -46802,  // -0.71414
  kBlueFromCb = 116130,   // 1.772
};

}  // namespace shoal::data::jpeg
