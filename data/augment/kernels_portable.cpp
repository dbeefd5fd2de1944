#include "data/augment/kernels.h"
#include "data/augment/loops.h"

namespace shoal::data::augment {
namespace {

void gray(const uint8_t* in, int64_t pixels, uint8_t* out) {
  for (int64_t i = 0; i < 3 * pixels; i += 3) {
    const auto luma =
        static_cast<uint8_t>((19595 * in[i] + 38470 * in[i + 1] + 7471 * in[i + 2] + 0x8000) >> 16);
    out[i] = out[i + 1] = out[i + 2] = luma;
  }
}

uint8_t level(float value) {
  const auto whole = static_cast<int32_t>(value * (1.0F / kOne));
  return static_cast<uint8_t>(whole < 0 ? 0 : whole > 255 ? 255 : whole);
}

void bilinear(const AffineRow& row) {
  Places places;
  for (int64_t begin = 0; begin < row.count; begin += kBlock) {
    const int64_t count = row.count - begin < kBlock ? row.count - begin : kBlock;
    find_places(row, begin, count, places);
    for (int64_t i = 0; i < count; ++i) {
      const uint8_t* const in = row.in + places.offset[i];
      const int32_t right = weight_of(places.x[i]), left = kOne - right;
      for (int64_t c = 0; c < 3; ++c) {
        const int32_t above = left * in[c] + right * in[c + 3];
        const int32_t below = left * in[row.stride + c] + right * in[row.stride + c + 3];
        row.out[3 * (begin + i) + c] =
            level(static_cast<float>(above) + places.y[i] * static_cast<float>(below - above));
      }
    }
  }
}

void bicubic(const AffineRow& row) {
  Places places;
  for (int64_t begin = 0; begin < row.count; begin += kBlock) {
    const int64_t count = row.count - begin < kBlock ? row.count - begin : kBlock;
    find_places(row, begin, count, places);
    for (int64_t i = 0; i < count; ++i) {
      const uint8_t* const in = row.in + places.offset[i] - row.stride - 3;
      const Cubic x = cubic_of(places.x[i]), y = cubic_of(places.y[i]);
      const int32_t first = weight_of(x.first), third = weight_of(x.third),
                    fourth = weight_of(x.fourth), second = kOne - first - third - fourth;
      for (int64_t c = 0; c < 3; ++c) {
        int32_t sums[4];
        for (int64_t k = 0; k < 4; ++k) {
          const uint8_t* const at = in + k * row.stride + c;
          sums[k] = first * at[0] + second * at[3] + third * at[6] + fourth * at[9];
        }
        float value = static_cast<float>(sums[1]);
        value += y.first * static_cast<float>(sums[0] - sums[1]);
        value += y.third * static_cast<float>(sums[2] - sums[1]);
        value += y.fourth * static_cast<float>(sums[3] - sums[1]);
        row.out[3 * (begin + i) + c] = level(value);
      }
    }
  }
}

}  // namespace

extern const Kernels kAvx2Kernels;

const Kernels& kernels([[maybe_unused]] Isa isa) {
#if defined(__x86_64__)
  if (isa != Isa::portable) return kAvx2Kernels;
#endif
  static constexpr Kernels portable{gray, blend, stretch, map, smooth, box, bilinear, bicubic};
  return portable;
}

}  // namespace shoal::data::augment
