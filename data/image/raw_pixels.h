#pragma once
// Uncompressed images, which packed sets can contain. Recognized by content like other formats:
// 16 bytes (magic, width, height), then RGB rows without gaps.

#include <cstdint>
#include <span>
#include <vector>

#include "data/geometry.h"

namespace shoal::data {

constexpr char kRawMagic[8] = {'s', 'h', 'o', 'a', 'l', 'r', 'g', 'b'};
constexpr int64_t kRawHead = 16;

// Returns the image file for height×width×3 RGB pixels.
std::vector<uint8_t> raw_image(const uint8_t* pixels, const Size& size);

// Returns the size in the header. Throws DamagedImage if the number of bytes does not match it, or
// if it exceeds the limits (limits.h).
Size raw_size(std::span<const uint8_t> bytes);

}  // namespace shoal::data
