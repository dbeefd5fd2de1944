#pragma once
// Shifts the hue of an image in Pillow's 8-bit HSV, like torchvision.

#include <cstdint>

namespace shoal::data::augment {

// Shifts the hue of `count` RGB pixels in place. `share`: the shift, as a fraction (-0.5 … 0.5) of
// the color circle.
void shift_hue(double share, uint8_t* pixels, int64_t count);

}  // namespace shoal::data::augment
