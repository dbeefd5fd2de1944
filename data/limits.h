#pragma once
// Limits on the memory that shoal allocates for a file.

#include <cstdint>
#include <string>

#include "data/errors.h"
#include "data/geometry.h"

namespace shoal::data {

constexpr int64_t kMaxPixels = 178'956'970;  // per image; Pillow's limit for decompression bombs
constexpr int64_t kMaxFileBytes = int64_t{1} << 29;  // per encoded image

// Throws DamagedImage for an empty image or one above kMaxPixels.
inline void check_dimensions(const Size& size) {
  if (size.width > 0 && size.height > 0 && size.width <= kMaxPixels / size.height) return;
  throw DamagedImage("its size of " + std::to_string(size.width) + " x " +
                     std::to_string(size.height) + " pixels is out of bounds (limit: 178956970)");
}

}  // namespace shoal::data
