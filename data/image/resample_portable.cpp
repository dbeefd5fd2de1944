#include "data/image/resample_kernels.h"

namespace shoal::data {
namespace {

inline uint8_t to_byte(int32_t sum) {
  const int32_t value = sum >> kWeightBits;
  return static_cast<uint8_t>(value < 0 ? 0 : value > 255 ? 255 : value);
}

constexpr int32_t kHalf = 1 << (kWeightBits - 1);

void pack(const int32_t* weights, int64_t rows, int32_t taps, int32_t* words) {
  __builtin_memcpy(words, weights, sizeof(int32_t) * static_cast<uint64_t>(rows * taps));
}

void horizontal(const HorizontalPass& p) {
  for (int64_t row = 0; row < 4; ++row) {
    for (int64_t x = 0; x < p.count; ++x) {
      const uint8_t* in = p.in[row] + 3 * p.starts[x];
      int32_t red = kHalf, green = kHalf, blue = kHalf;
      for (int32_t k = 0; k < p.taps; ++k) {
        const int32_t w = p.weights[x * p.taps + k];
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
      const int32_t w = p.weights[k];
      for (int64_t i = 0; i < length; ++i) sums[i] += w * in[i];
    }
    for (int64_t i = 0; i < length; ++i) p.out[begin + i] = to_byte(sums[i]);
  }
}

}  // namespace

extern const ResampleKernels kPortableResample;
const ResampleKernels kPortableResample{1, 1, pack, horizontal, vertical};

}  // namespace shoal::data
