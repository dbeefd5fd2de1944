// torchvision's GaussianBlur with a kernel of 23 × 23 pixels. Mirrors the image at its edges.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "data/augment/editor.h"

namespace shoal::data::augment {
namespace {

constexpr int64_t kReach = 11;             // pixels to each side
constexpr int32_t kTaps = 2 * kReach + 2;  // must be even, so the last tap has weight 0

std::array<int16_t, kTaps> weights_of(double deviation) {
  std::array<double, kTaps> exact{};
  double sum = 0;
  for (int32_t k = 0; k + 1 < kTaps; ++k) {
    const double x = static_cast<double>(k - kReach) / deviation;
    exact[static_cast<size_t>(k)] = std::exp(-0.5 * x * x);
    sum += exact[static_cast<size_t>(k)];
  }
  std::array<int16_t, kTaps> weights{};
  int32_t rest = 1 << kPlanarBits;
  for (size_t k = 0; k < kTaps; ++k) {
    weights[k] = static_cast<int16_t>(std::lround(exact[k] / sum * (1 << kPlanarBits)));
    rest -= weights[k];
  }
  weights[kReach] = static_cast<int16_t>(weights[kReach] + rest);
  return weights;
}

int64_t mirrored(int64_t i, int64_t count) {
  if (count == 1) return 0;
  const int64_t period = 2 * (count - 1);
  const int64_t at = ((i % period) + period) % period;
  return at < count ? at : period - at;
}

}  // namespace

// For each row, runs the vertical pass and then the horizontal pass. The horizontal pass uses the
// same kernel with a row stride of 3 bytes: its k-th input "row" is the row shifted by k pixels.
void Editor::gaussian_blur(double deviation, uint8_t* pixels, const Size& size) {
  const auto weights = weights_of(deviation);
  const int64_t row = 3 * size.width, padded = 3 * (size.width + 2 * kReach) + 64;
  const int64_t stride = row + 64;
  scratch_.resize(static_cast<size_t>(stride * (size.height + kTaps) + 2 * padded + 64));
  uint8_t* const rows = scratch_.data();
  uint8_t* const line = rows + stride * (size.height + kTaps);
  uint8_t* const out = line + padded;
  for (int64_t y = -kReach; y <= size.height + kReach; ++y)
    std::memcpy(rows + (y + kReach) * stride, pixels + mirrored(y, size.height) * row,
                static_cast<size_t>(row));
  const int32_t start = 0;
  RowSums sums{};
  sums.starts = &start;
  sums.weights = weights.data();
  sums.taps = kTaps;
  sums.bias = kPlanarHalf;
  sums.rows = 1;
  sums.bytes = row;
  sums.out_stride = padded;
  for (int64_t y = 0; y < size.height; ++y) {
    sums.in = rows + y * stride;
    sums.in_stride = stride;
    sums.out = line + 3 * kReach;
    sums_.sum_rows(sums);
    for (int64_t x = 1; x <= kReach; ++x) {
      std::memcpy(line + 3 * (kReach - x), line + 3 * (kReach + mirrored(-x, size.width)), 3);
      std::memcpy(line + 3 * (kReach + size.width - 1 + x),
                  line + 3 * (kReach + mirrored(size.width - 1 + x, size.width)), 3);
    }
    sums.in = line;
    sums.in_stride = 3;
    sums.out = out;
    sums_.sum_rows(sums);
    std::memcpy(pixels + y * row, out, static_cast<size_t>(row));
  }
}

}  // namespace shoal::data::augment
