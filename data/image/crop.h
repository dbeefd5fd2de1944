#pragma once
// Computes the crop boxes for training and evaluation, by torchvision's rules.

#include <cstdint>

#include "data/data_options.h"
#include "data/geometry.h"
#include "data/random.h"

namespace shoal::data {

// RandomResizedCrop: draws area and logarithm of the aspect ratio until the box fits into the
// image, at most ten times. If none fits, returns the largest centered box with an allowed ratio.
Box random_resized_crop(const Size& image, const TransformOptions& options, KeyedRandom& random);

// Geometry of Resize(eval_resize) followed by a crop of eval_size.
struct CenterView {
  Size resized;  // short side = eval_resize, long side rounded down
  Box crop;      // in pixels of the resized image
  // Position of the crop in the output. Above 0 only if the output is larger than the resized
  // image; the caller must fill the rest of the output with zeros.
  int64_t left = 0, top = 0;
};
// `corner`: 0 for the center crop, 1 … 4 for the corners of the resized image in the order of
// torchvision's FiveCrop (top left, top right, bottom left, bottom right).
CenterView center_view(const Size& image, const TransformOptions& options, int64_t corner = 0);

}  // namespace shoal::data
