#pragma once
// Limits on the memory that shoal allocates for a file.

#include <cstdint>
#include <string>

#include "data/errors.h"
#include "data/geometry.h"

namespace shoal::data {

constexpr int64_t kMaxPixels = 178'956'970;  // per image; Pillow's limit for decompression bombs
constexpr int64_t kMaxFileBytes = int64_t{1} << 29;

// Throws DamagedImage for an empty image or one above kMaxPixels.
inline void check_dimensions(const Size& size) {
  if (size.width > 0 && size.height > 0 && size.width <= kMaxPixels / size.height) return;
  throw DamagedImage("dimensions of " + std::to_string(size.width) + " x " +
                     std::to_string(size.height) + " pixels are out of bounds");
}

}  // namespace shoal::data
