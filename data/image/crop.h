#pragma once
// Where training and evaluation look at an image: pure geometry, torchvision's rules.

#include <cstdint>

#include "data/data_options.h"
#include "data/image/geometry.h"
#include "data/random.h"

namespace shoal::data {

// RandomResizedCrop's box: ten tries of area and logarithmic aspect ratio, then the largest central
// box in range.
Box random_resized_crop(const Size& image, const TransformOptions& options, KeyedRandom& random);

// Resize(eval_resize) followed by a crop of eval_size.
struct CenterView {
  Size resized;  // short side = eval_resize, long side rounded down
  Box crop;      // of the resized image, inside it
  // Where the crop lies in the output; above 0 only where the output is larger than the image:
  // zeros around.
  int64_t left = 0, top = 0;
};
// `corner`: 0 the centre, 1 … 4 the corners of the resized image in the order of torchvision's
// FiveCrop (top left, top right, bottom left, bottom right).
CenterView center_view(const Size& image, const TransformOptions& options, int64_t corner = 0);

}  // namespace shoal::data
