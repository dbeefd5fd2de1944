#pragma once
// The two inner loops of resampling, as plain functions over plain structs: the same file is
// compiled for several instruction sets, so nothing here may be a template or an inline function
// that the linker could share.
//
// A weight is an integer of 22 fractional bits, kept as two 16-bit halves, weight = high * 2048 +
// low with 0 <= low < 2048, because processors multiply pairs of 16-bit numbers fastest. Sums are
// exact in 32 bits, so all implementations give the same bits. Weights come in groups of kGroup
// taps: first the high halves, then the low.

#include <stdint.h>

namespace shoal::data {

enum : int32_t { kWeightBits = 22, kLowBits = 11, kGroup = 2 };

// Four source rows to four rows of `count` pixels. Source rows are readable 3 * taps + 16 bytes
// beyond their end.
struct HorizontalPass {
  const uint8_t* in[4];    // RGB; may repeat
  uint8_t* out[4];         // RGB; 1 byte behind the last pixel is overwritten; may repeat
  const int32_t* starts;   // count: first source pixel
  const int16_t* weights;  // count × 2 * taps; taps is a multiple of kGroup
  int64_t count;
  int32_t taps;
};

// Rows to one row.
struct VerticalPass {
  const uint8_t* in;  // first source row; readable up to a multiple of 32 bytes
  int64_t stride;     // bytes
  // 2 * taps; taps is a multiple of kGroup; rows under zero weights must be readable.
  const int16_t* weights;
  uint8_t* out;  // exactly `bytes` are written
  int64_t bytes;
  int32_t taps;
};

struct ResampleKernels {
  void (*horizontal)(const HorizontalPass&);
  void (*vertical)(const VerticalPass&);
};

extern const ResampleKernels kPortableKernels;
#if defined(__x86_64__)
extern const ResampleKernels kAvx2Kernels;
#endif

}  // namespace shoal::data
