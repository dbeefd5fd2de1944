#include "data/image/planar_kernels.h"

namespace shoal::data {
namespace {

void sum_rows(const RowSums& s) {
  for (int64_t row = 0; row < s.rows; ++row) {
    const uint8_t* const in = s.in + s.starts[row] * s.in_stride;
    const int16_t* const weights = s.weights + row * s.taps;
    uint8_t* const out = s.out + row * s.out_stride;
    for (int64_t x = 0; x < s.bytes; ++x) {
      int32_t sum = s.bias;
      for (int32_t k = 0; k < s.taps; ++k) sum += weights[k] * in[k * s.in_stride + x];
      sum >>= kPlanarBits;
      out[x] = static_cast<uint8_t>(sum < 0 ? 0 : sum > 255 ? 255 : sum);
    }
  }
}

void transpose(const uint8_t* in, int64_t in_stride, uint8_t* out, int64_t out_stride, int64_t rows,
               int64_t columns) {
  for (int64_t y = 0; y < rows; ++y)
    for (int64_t x = 0; x < columns; ++x) out[x * out_stride + y] = in[y * in_stride + x];
}

}  // namespace

extern const PlanarKernels kAvx2Planar;

const PlanarKernels& planar_kernels([[maybe_unused]] Isa isa) {
#if defined(__x86_64__)
  if (isa != Isa::portable) return kAvx2Planar;  // AVX-512 would not be faster here
#endif
  static constexpr PlanarKernels kPortable{sum_rows, transpose};
  return kPortable;
}

}  // namespace shoal::data
