#pragma once
// The inner loops of the fast resampler (planar_resampler.h): plain functions over plain structs,
// compiled for several instruction sets, with the same bits everywhere.

#include <stdint.h>

#include "data/isa.h"

namespace shoal::data {

enum : int32_t { kPlanarBits = 14, kPlanarHalf = 1 << 13 };  // fractional bits of a weight

// A weighted sum of rows for each output row. The rows under a weight of zero must be readable.
// Rows are read and written up to a multiple of 32 bytes.
struct RowSums {
  const uint8_t* in;  // the row that starts[] counts from
  int64_t in_stride;
  const int32_t* starts;   // rows: first source row
  const int16_t* weights;  // rows × taps
  int32_t taps;            // even
  int32_t bias;  // added to a sum before its fraction is cut off: kPlanarHalf rounds, 0 rounds down
  int64_t rows, bytes;
  uint8_t* out;
  int64_t out_stride;
};

struct PlanarKernels {
  void (*sum_rows)(const RowSums& sums);
  // rows × columns bytes to columns × rows, in tiles of 16 × 16 that are read and written whole.
  void (*transpose)(const uint8_t* in, int64_t in_stride, uint8_t* out, int64_t out_stride,
                    int64_t rows, int64_t columns);
};

const PlanarKernels& planar_kernels(Isa isa);

}  // namespace shoal::data
