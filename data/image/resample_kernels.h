#pragma once
// The two inner loops of resampling, as plain functions over plain structs. Files compiled for
// different instruction sets include this header, so it must not contain templates or inline
// functions: the linker would keep one copy for all files, and the processor might not support it.
//
// Weights are fixed-point numbers with 22 fractional bits. Sums are exact in 32 bits, so all
// implementations give the same bits. Each implementation packs `group` weights into `words` 32-bit
// words, in the layout that its multiplications need.

#include <stdint.h>

#include "data/isa.h"

namespace shoal::data {

enum : int32_t { kWeightBits = 22 };

// Arguments for the resize of four source rows to `count` pixels each. 3 * taps + 16 bytes after
// the end of each source row must be readable.
struct HorizontalPass {
  const uint8_t* in[4];    // RGB rows; the same row may occur several times
  uint8_t* out[4];         // RGB rows, may repeat; up to 16 bytes after the end are overwritten
  const int32_t* starts;   // first source pixel of each of the `count` output pixels
  const int32_t* weights;  // packed: count × (taps / group) × words elements
  int64_t count;
  int32_t taps;  // per pixel; a multiple of `group`
};

// Arguments for one output row, the weighted sum of `taps` source rows. Each of these rows must be
// readable, even if its weight is zero, up to `bytes` rounded up to a multiple of 32.
struct VerticalPass {
  const uint8_t* in;       // first source row
  int64_t stride;          // bytes from one source row to the next
  const int32_t* weights;  // packed: (taps / group) × words elements
  uint8_t* out;            // writes exactly `bytes` bytes
  int64_t bytes;
  int32_t taps;  // a multiple of `group`
};

struct ResampleKernels {
  int32_t group, words;
  // Packs rows × taps weights; pads each row with zeros to whole groups.
  void (*pack)(const int32_t* weights, int64_t rows, int32_t taps, int32_t* words);
  void (*horizontal)(const HorizontalPass&);
  void (*vertical)(const VerticalPass&);
};

const ResampleKernels& resample_kernels(Isa isa);

}  // namespace shoal::data
