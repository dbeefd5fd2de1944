#pragma once
// A copy of an image with a border that repeats its edge pixels, so that loops need no bounds
// checks.

#include <cstdint>
#include <vector>

#include "data/geometry.h"

namespace shoal::data::augment {

// Reuses its memory from image to image.
class Bordered {
 public:
  // Copies RGB pixels with `border` pixels on every side.
  void copy(const uint8_t* pixels, const Size& size, int64_t border);
  // The same with `across` pixels left and right, `down` pixels above and below.
  void copy(const uint8_t* pixels, const Size& size, int64_t across, int64_t down);

  // Pixel (0, 0) of the image. 32 bytes after the last row's border are readable.
  uint8_t* origin() { return memory_.data() + down_ * stride_ + 3 * across_; }
  int64_t stride() const { return stride_; }  // bytes

 private:
  std::vector<uint8_t> memory_;
  int64_t across_ = 0, down_ = 0, stride_ = 0;
};

}  // namespace shoal::data::augment
