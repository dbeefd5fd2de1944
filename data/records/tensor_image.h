#pragma once
// Images stored as tensors.

#include <cstdint>
#include <span>
#include <vector>

#include "data/records/tf_example.h"

namespace shoal::data {

// Converts a tensor (little-endian, type keys.raw, shape from keys) to uncompressed RGB
// (raw_pixels.h). Multiplies values by keys.scale, rounds and clamps them to 0 … 255; repeats a
// single channel. Throws DamagedImage if the number of bytes does not match the shape.
std::vector<uint8_t> image_of_tensor(std::span<const uint8_t> tensor, const ExampleKeys& keys);

}  // namespace shoal::data
