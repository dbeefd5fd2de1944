#pragma once
// Uncompressed images, which packed sets can contain. The format: kRawMagic, width and height as
// 32-bit little-endian integers, then RGB rows without gaps.

#include <cstdint>
#include <span>
#include <vector>

#include "data/geometry.h"

namespace shoal::data {

constexpr char kRawMagic[8] = {'s', 'h', 'o', 'a', 'l', 'r', 'g', 'b'};
constexpr int64_t kRawHead = 16;  // bytes before the first row

// Encodes height×width×3 RGB pixels as an uncompressed image.
std::vector<uint8_t> raw_image(const uint8_t* pixels, const Size& size);

// Returns the size in the header. `bytes` must start with kRawMagic. Throws DamagedImage if the
// number of bytes does not match the size, or if the size exceeds the limits (limits.h).
Size raw_size(std::span<const uint8_t> bytes);

}  // namespace shoal::data
