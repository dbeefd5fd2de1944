#pragma once
// Constants of the integer transform and of the colour conversion: 13 and 16 fractional bits.
// Source: the Independent JPEG Group's accurate integer method (C. Loeffler, A. Ligtenberg and G.
// Moschytz, "Practical Fast 1-D DCT Algorithms with 11 Multiplications", ICASSP 1989), and JFIF.

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
  kFirstShift = 11,   // 2 fractional bits stay between the passes
  kSecondShift = 18,  // and the factor 8 of two passes goes
};

enum : int32_t {
  kRedFromCr = 91881,      // 1.402
  kGreenFromCb = -22554,   // 0.34414
  kGreenFromCr = -46802,   // 0.71414
  kBlueFromCb = 116130,    // 1.772
};

}  // namespace shoal::data::jpeg
