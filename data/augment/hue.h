#pragma once
// Turning the colours of an image, through Pillow's 8-bit HSV as torchvision does it.

#include <cstdint>

namespace shoal::data::augment {

// `share` of the colour circle, -0.5 … 0.5. RGB, in place.
void shift_hue(double share, uint8_t* pixels, int64_t count);

}  // namespace shoal::data::augment
