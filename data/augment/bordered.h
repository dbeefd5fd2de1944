#pragma once
// A copy of an image with a border that repeats its edge pixels, so that loops need no bounds
// checks.

#include <cstdint>
#include <vector>

#include "data/geometry.h"

namespace shoal::data::augment {

// Use one object for many images; it reuses its memory.
class Bordered {
 public:
  // Copies height×width×3 RGB pixels and adds a border of `border` pixels on every side.
  void copy(const uint8_t* pixels, const Size& size, int64_t border);
  // Adds a border of `across` pixels on the left and right, and `down` pixels above and below.
  void copy(const uint8_t* pixels, const Size& size, int64_t across, int64_t down);

  // Pixel (0, 0) of the image. 32 bytes after the last row's border are readable.
  uint8_t* origin() { return memory_.data() + down_ * stride_ + 3 * across_; }
  int64_t stride() const { return stride_; }  // bytes

 private:
  std::vector<uint8_t> memory_;
  int64_t across_ = 0, down_ = 0, stride_ = 0;
};

}  // namespace shoal::data::augment
