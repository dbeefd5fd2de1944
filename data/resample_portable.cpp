#include "data/resample_kernels.h"

namespace shoal::data {
namespace {

inline uint8_t to_byte(int32_t sum) {
  const int32_t value = sum >> kWeightBits;
  return static_cast<uint8_t>(value < 0 ? 0 : value > 255 ? 255 : value);
}

// The weight of tap k, put together again.
inline int32_t weight(const int16_t* weights, int32_t k) {
  const int16_t* at = weights + k / kGroup * 2 * kGroup + k % kGroup;
  return at[0] * (1 << kLowBits) + at[kGroup];
}

constexpr int32_t kHalf = 1 << (kWeightBits - 1);

void horizontal(const HorizontalPass& p) {
  for (int64_t row = 0; row < 4; ++row) {
    for (int64_t x = 0; x < p.count; ++x) {
      const uint8_t* in = p.in[row] + 3 * p.starts[x];
      int32_t red = kHalf, green = kHalf, blue = kHalf;
      for (int32_t k = 0; k < p.taps; ++k) {
        const int32_t w = weight(p.weights + x * 2 * p.taps, k);
        red += w * in[3 * k];
        green += w * in[3 * k + 1];
        blue += w * in[3 * k + 2];
      }
      uint8_t* out = p.out[row] + 3 * x;
      out[0] = to_byte(red);
      out[1] = to_byte(green);
      out[2] = to_byte(blue);
    }
  }
}

void vertical(const VerticalPass& p) {
  constexpr int64_t kChunk = 64;
  int32_t sums[kChunk];
  for (int64_t begin = 0; begin < p.bytes; begin += kChunk) {
    const int64_t length = p.bytes - begin < kChunk ? p.bytes - begin : kChunk;
    for (int64_t i = 0; i < length; ++i) sums[i] = kHalf;
    for (int32_t k = 0; k < p.taps; ++k) {
      const uint8_t* in = p.in + k * p.stride + begin;
      const int32_t w = weight(p.weights, k);
      for (int64_t i = 0; i < length; ++i) sums[i] += w * in[i];
    }
    for (int64_t i = 0; i < length; ++i) p.out[begin + i] = to_byte(sums[i]);
  }
}

}  // namespace

const ResampleKernels kPortableKernels{horizontal, vertical};

}  // namespace shoal::data
