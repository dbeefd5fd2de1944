#pragma once
// Inner loops of the fast resampler (planar_resampler.h): plain functions over plain structs,
// compiled for several instruction sets. All versions give the same bits.

#include <stdint.h>

#include "data/isa.h"

namespace shoal::data {

enum : int32_t { kPlanarBits = 14, kPlanarHalf = 1 << 13 };  // fractional bits; value of 0.5

// Arguments of sum_rows(). Each output row is a weighted sum of `taps` input rows. Input rows with
// weight zero must be readable too. Each row is read and written up to the next multiple of 32
// bytes. Strides are in bytes.
struct RowSums {
  const uint8_t* in;  // input row 0
  int64_t in_stride;
  const int32_t* starts;   // `rows` values: first input row of each output row
  const int16_t* weights;  // rows × taps
  int32_t taps;            // even
  int32_t bias;            // added before truncation: kPlanarHalf rounds to nearest, 0 rounds down
  int64_t rows, bytes;
  uint8_t* out;
  int64_t out_stride;
};

struct PlanarKernels {
  void (*sum_rows)(const RowSums& sums);
  // Transposes rows × columns bytes. May round both up to multiples of 16 and read and write all
  // these bytes.
  void (*transpose)(const uint8_t* in, int64_t in_stride, uint8_t* out, int64_t out_stride,
                    int64_t rows, int64_t columns);
};

const PlanarKernels& planar_kernels(Isa isa);

}  // namespace shoal::data
