#pragma once
// Pixels that are not compressed, as packed sets may hold them: recognised by content like the
// other formats. 16 bytes of head (the magic, width, height), then RGB rows without gaps.

#include <cstdint>
#include <span>
#include <vector>

#include "data/image/geometry.h"

namespace shoal::data {

constexpr char kRawMagic[8] = {'s', 'h', 'o', 'a', 'l', 'r', 'g', 'b'};
constexpr int64_t kRawHead = 16;

std::vector<uint8_t> raw_image(const uint8_t* pixels, const Size& size);

// Throws DamagedImage when the bytes are not as many as the head says, or the size is out of
// bounds.
Size raw_size(std::span<const uint8_t> bytes);

}  // namespace shoal::data
