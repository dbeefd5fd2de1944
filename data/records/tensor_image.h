#pragma once
// Images stored as tensors.

#include <cstdint>
#include <span>
#include <vector>

#include "data/records/tf_example.h"

namespace shoal::data {

// Converts a tensor to an uncompressed RGB image (image/raw_pixels.h). The tensor is little-endian
// and has the type and shape given by `keys`. Multiplies the elements by keys.scale, rounds them
// and clamps them to 0 … 255. Repeats a single channel three times. Throws DamagedImage if the
// number of bytes does not match the shape.
std::vector<uint8_t> image_of_tensor(std::span<const uint8_t> tensor, const ExampleKeys& keys);

}  // namespace shoal::data
