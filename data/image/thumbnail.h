#pragma once
// Small copies of images, for reports.

#include <cstdint>
#include <vector>

#include "data/geometry.h"

namespace shoal::data {

constexpr int64_t kThumbnailSide = 96;  // pixels of the longer side; smaller images keep their size

// Returns a small copy of an image, encoded as a JPEG. `pixels`: height×width×channels, with 1 or 3
// channels.
std::vector<uint8_t> thumbnail(const uint8_t* pixels, Size size, int64_t channels);

}  // namespace shoal::data
