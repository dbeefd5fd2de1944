#pragma once
// The two inner loops of resampling, as plain functions over plain structs: the same file is
// compiled for several instruction sets, so nothing here may be a template or an inline function
// that the linker could share.
//
// A weight is an integer of 22 fractional bits. Sums are exact in 32 bits, so all implementations
// give the same bits, however they take a weight apart: each packs `group` taps into `words` words
// as its multiplications want them.

#include <stdint.h>

#include "data/isa.h"

namespace shoal::data {

enum : int32_t { kWeightBits = 22 };

// Four source rows to four rows of `count` pixels. Source rows are readable 3 * taps + 16 bytes
// beyond their end.
struct HorizontalPass {
  const uint8_t* in[4];    // RGB; may repeat
  uint8_t* out[4];         // RGB; 16 bytes behind the last pixel are overwritten; may repeat
  const int32_t* starts;   // count: first source pixel
  const int32_t* weights;  // count × taps / group × words
  int64_t count;
  int32_t taps;  // a multiple of group
};

// Rows to one row.
struct VerticalPass {
  const uint8_t* in;       // first source row; readable up to a multiple of 32 bytes
  int64_t stride;          // bytes
  const int32_t* weights;  // taps / group × words; rows under zero weights must be readable
  uint8_t* out;            // exactly `bytes` are written
  int64_t bytes;
  int32_t taps;  // a multiple of group
};

struct ResampleKernels {
  int32_t group, words;
  // `rows` × taps weights, each row filled up with zeros to whole groups.
  void (*pack)(const int32_t* weights, int64_t rows, int32_t taps, int32_t* words);
  void (*horizontal)(const HorizontalPass&);
  void (*vertical)(const VerticalPass&);
};

const ResampleKernels& resample_kernels(Isa isa);

}  // namespace shoal::data
