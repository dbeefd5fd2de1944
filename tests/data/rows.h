#pragma once
// Collects the rows that a decoder returns in blocks.

#include <cstdint>
#include <vector>

#include "data/geometry.h"

namespace shoal::data {

// Appends the pixels of all rows to `pixels`. next() returns the next RowBlock. `width`: in pixels.
template <class Next>
void append_rows(const Next& next, int64_t width, std::vector<uint8_t>& pixels) {
  for (RowBlock rows = next(); rows.count > 0; rows = next())
    for (int64_t y = 0; y < rows.count; ++y)
      pixels.insert(pixels.end(), rows.data + y * rows.stride,
                    rows.data + y * rows.stride + 3 * width);
}

}  // namespace shoal::data
