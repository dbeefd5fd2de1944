#include "data/resample_kernels.h"

namespace shoal::data {
namespace {

inline uint8_t to_byte(int32_t sum, int32_t shift) {
  const int32_t value = sum >> shift;
  return static_cast<uint8_t>(value < 0 ? 0 : value > 255 ? 255 : value);
}

void horizontal(const HorizontalPass& p) {
  for (int64_t row = 0; row < 4; ++row) {
    for (int64_t x = 0; x < p.count; ++x) {
      const uint8_t* in = p.in[row] + 3 * p.starts[x];
      const int16_t* weights = p.weights + x * p.taps;
      int32_t red = 1 << (p.shift - 1), green = red, blue = red;
      for (int32_t k = 0; k < p.taps; ++k) {
        red += weights[k] * in[3 * k];
        green += weights[k] * in[3 * k + 1];
        blue += weights[k] * in[3 * k + 2];
      }
      uint8_t* out = p.out[row] + 3 * x;
      out[0] = to_byte(red, p.shift);
      out[1] = to_byte(green, p.shift);
      out[2] = to_byte(blue, p.shift);
    }
  }
}

void vertical(const VerticalPass& p) {
  constexpr int64_t kChunk = 64;
  int32_t sums[kChunk];
  for (int64_t begin = 0; begin < p.bytes; begin += kChunk) {
    const int64_t length = p.bytes - begin < kChunk ? p.bytes - begin : kChunk;
    for (int64_t i = 0; i < length; ++i) sums[i] = 1 << (p.shift - 1);
    for (int32_t k = 0; k < p.taps; ++k) {
      const uint8_t* in = p.in + k * p.stride + begin;
      const int32_t weight = p.weights[k];
      for (int64_t i = 0; i < length; ++i) sums[i] += weight * in[i];
    }
    for (int64_t i = 0; i < length; ++i) p.out[begin + i] = to_byte(sums[i], p.shift);
  }
}

}  // namespace

const ResampleKernels kPortableKernels{horizontal, vertical};

}  // namespace shoal::data
