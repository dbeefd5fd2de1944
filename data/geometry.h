#pragma once
// Sizes and boxes of images, in pixels.

#include <cstdint>

namespace shoal::data {

struct Size {
  int64_t width = 0, height = 0;
};

struct Box {
  int64_t left = 0, top = 0, width = 0, height = 0;
};

// Consecutive rows of an RGB image, 3 bytes per pixel. After the last row, decoders return a block
// with a `count` of 0.
struct RowBlock {
  const uint8_t* data = nullptr;
  int64_t stride = 0;  // bytes from one row to the next
  int64_t count = 0;   // rows
};

}  // namespace shoal::data
