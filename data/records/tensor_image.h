#pragma once
// Images that were stored as tensors.

#include <cstdint>
#include <span>
#include <vector>

#include "data/records/tf_example.h"

namespace shoal::data {

// The tensor (little-endian, of keys.raw and keys' shape) as uncompressed RGB (raw_pixels.h).
// Values are multiplied by keys.scale, rounded, and cut to 0 … 255; one channel is repeated. Throws
// DamagedImage when the bytes are not as many as the shape says.
std::vector<uint8_t> image_of_tensor(std::span<const uint8_t> tensor, const ExampleKeys& keys);

}  // namespace shoal::data
