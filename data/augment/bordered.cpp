#include "data/augment/bordered.h"

#include <cstring>

#include "base/grow.h"

namespace shoal::data::augment {

void Bordered::copy(const uint8_t* pixels, const Size& size, int64_t border) {
  copy(pixels, size, border, border);
}

void Bordered::copy(const uint8_t* pixels, const Size& size, int64_t across, int64_t down) {
  across_ = across;
  down_ = down;
  stride_ = 3 * (size.width + 2 * across);
  const auto bytes = static_cast<size_t>(stride_ * (size.height + 2 * down) + 32);
  grow(memory_, bytes);
  const int64_t row = 3 * size.width;
  for (int64_t y = 0; y < size.height; ++y) {
    uint8_t* const out = origin() + y * stride_;
    std::memcpy(out, pixels + y * row, static_cast<size_t>(row));
    for (int64_t x = 1; x <= across; ++x) {
      std::memcpy(out - 3 * x, out, 3);
      std::memcpy(out + row - 3 + 3 * x, out + row - 3, 3);
    }
  }
  uint8_t* const first = memory_.data() + down * stride_;
  uint8_t* const last = first + (size.height - 1) * stride_;
  for (int64_t y = 1; y <= down; ++y) {
    std::memcpy(first - y * stride_, first, static_cast<size_t>(stride_));
    std::memcpy(last + y * stride_, last, static_cast<size_t>(stride_));
  }
}

}  // namespace shoal::data::augment
