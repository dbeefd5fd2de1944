// Loops that compilers vectorize. The kernel file of every instruction set includes this header. A
// unity build must not merge the kernel files, because each of them defines the names below.
#include <stdint.h>

#include "data/augment/kernels.h"

namespace shoal::data::augment {
namespace {

void blend(const uint8_t* from, const uint8_t* to, float share, int64_t bytes, uint8_t* out) {
  for (int64_t i = 0; i < bytes; ++i) {
    const int32_t start = from[i];
    const float value = static_cast<float>(start) + share * static_cast<float>(to[i] - start);
    const float low = value < 0 ? 0 : value;
    out[i] = static_cast<uint8_t>(static_cast<int32_t>(low > 255 ? 255 : low));
  }
}

void stretch(uint8_t gray, float share, int64_t bytes, uint8_t* pixels) {
  for (int64_t i = 0; i < bytes; ++i) {
    const float value =
        static_cast<float>(gray) + share * static_cast<float>(pixels[i] - int32_t{gray});
    const float low = value < 0 ? 0 : value;
    pixels[i] = static_cast<uint8_t>(static_cast<int32_t>(low > 255 ? 255 : low));
  }
}

void map(const LevelMap& map, int64_t bytes, uint8_t* pixels) {
  const uint8_t keep = map.keep, add = map.add, flip = map.flip;
  if (map.from > 255) {
    for (int64_t i = 0; i < bytes; ++i) {
      const auto kept = static_cast<uint8_t>(pixels[i] & keep);
      const auto more = static_cast<uint8_t>(kept + add);
      pixels[i] = more < kept ? uint8_t{255} : more;
    }
    return;
  }
  const auto from = static_cast<uint8_t>(map.from);
  for (int64_t i = 0; i < bytes; ++i) {
    const auto kept = static_cast<uint8_t>(pixels[i] & keep);
    const auto more = static_cast<uint8_t>(kept + add);
    const auto below = more < kept ? uint8_t{255} : more;
    const auto turned = static_cast<uint8_t>(kept ^ flip);
    pixels[i] = kept < from ? below : turned;
  }
}

// The pixel has weight 5 and its 8 neighbors weight 1, 13 in total, so (sum + 6) / 13 is the
// rounded mean. Ties cannot occur, because 13 is odd.
void smooth(const uint8_t* in, int64_t stride, int64_t bytes, uint8_t* out) {
  constexpr uint32_t kThirteenth = 20165;  // 2^18 / 13, rounded up; the quotients are still exact
  const uint8_t* const above = in - stride;
  const uint8_t* const below = in + stride;
  for (int64_t i = 0; i < bytes; ++i) {
    const auto sum =
        static_cast<uint16_t>(above[i - 3] + above[i] + above[i + 3] + in[i - 3] + 5 * in[i] +
                              in[i + 3] + below[i - 3] + below[i] + below[i + 3] + 6);
    out[i] = static_cast<uint8_t>(static_cast<uint16_t>((sum * kThirteenth) >> 16) >> 2);
  }
}

void box(const BoxRow& row) {
  enum : int64_t { kBlock = 256 };
  uint32_t sums[kBlock];
  for (int64_t begin = 0; begin < row.bytes; begin += kBlock) {
    const int64_t count = row.bytes - begin < kBlock ? row.bytes - begin : kBlock;
    const uint8_t* const in = row.in + begin;
    for (int64_t i = 0; i < count; ++i) sums[i] = in[i];
    for (int64_t k = 1; k <= row.radius; ++k)
      for (int64_t i = 0; i < count; ++i)
        sums[i] += static_cast<uint32_t>(in[i - k * row.step] + in[i + k * row.step]);
    const int64_t far = (row.radius + 1) * row.step;
    for (int64_t i = 0; i < count; ++i) {
      const uint32_t ends = static_cast<uint32_t>(in[i - far] + in[i + far]);
      row.out[begin + i] = static_cast<uint8_t>(
          (sums[i] * row.inner + ends * row.outer + (uint32_t{1} << 23)) >> 24);
    }
  }
}

// The weight 1 in fixed point, for weights along x. Weights along y are floats.
constexpr int32_t kOne = 1 << 14;
constexpr int64_t kBlock = 64;  // pixels whose coordinates are computed together

// Source positions of up to kBlock pixels. `offset`: the source pixel to the upper left of the
// position. `x`, `y`: distances from that pixel to the position.
struct Places {
  int32_t offset[kBlock];  // bytes from pixel (0, 0)
  float x[kBlock], y[kBlock];
};

void find_places(const AffineRow& row, int64_t begin, int64_t count, Places& places) {
  int32_t column[kBlock], line[kBlock];
  for (int64_t i = 0; i < count; ++i) {
    const double at = static_cast<double>(static_cast<int32_t>(row.first + begin + i)) + 0.5;
    const double x = row.x_step * at + row.x_row + row.x_shift - 0.5;
    const double y = row.y_step * at + row.y_row + row.y_shift - 0.5;
    // x and y are at least -0.5, so adding 1 and truncating rounds down.
    column[i] = static_cast<int32_t>(x + 1) - 1;
    line[i] = static_cast<int32_t>(y + 1) - 1;
    places.x[i] = static_cast<float>(x - column[i]);
    places.y[i] = static_cast<float>(y - line[i]);
  }
  const auto stride = static_cast<int32_t>(row.stride);
  for (int64_t i = 0; i < count; ++i) places.offset[i] = line[i] * stride + 3 * column[i];
}

// Returns share * kOne, rounded to an integer. `share`: from 0 to 1, or slightly below 0.
int32_t weight_of(float share) {
  return static_cast<int32_t>(share * kOne + (kOne + 0.5F)) - kOne;
}

// Weights of Pillow's cubic filter for the four neighbors of a position. The weight of the second
// neighbor is 1 minus the other three. `d`: distance of the position from the second neighbor.
struct Cubic {
  float first, third, fourth;
};
Cubic cubic_of(float d) {
  const float square = d * d, cube = square * d;
  return {2 * square - cube - d, d + square - cube, cube - square};
}

}  // namespace
}  // namespace shoal::data::augment
