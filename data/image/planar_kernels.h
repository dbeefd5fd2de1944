#pragma once
// Inner loops of the fast resampler (planar_resampler.h): plain functions over plain structs,
// compiled for several instruction sets. All give the same bits.

#include <stdint.h>

#include "data/isa.h"

namespace shoal::data {

enum : int32_t { kPlanarBits = 14, kPlanarHalf = 1 << 13 };  // fractional bits of a weight

// Each output row is a weighted sum of input rows. Rows with weight zero must be readable too.
// Reads and writes rows up to a multiple of 32 bytes.
struct RowSums {
  const uint8_t* in;  // row 0 of `starts`
  int64_t in_stride;
  const int32_t* starts;   // rows: first source row
  const int16_t* weights;  // rows × taps
  int32_t taps;            // even
  int32_t bias;            // added before truncation: kPlanarHalf rounds to nearest, 0 down
  int64_t rows, bytes;
  uint8_t* out;
  int64_t out_stride;
};

struct PlanarKernels {
  void (*sum_rows)(const RowSums& sums);
  // Transposes rows × columns bytes, in tiles of 16 × 16 that are read and written whole.
  void (*transpose)(const uint8_t* in, int64_t in_stride, uint8_t* out, int64_t out_stride,
                    int64_t rows, int64_t columns);
};

const PlanarKernels& planar_kernels(Isa isa);

}  // namespace shoal::data
