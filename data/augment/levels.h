#pragma once
// Converts the magnitudes of a policy to the amounts of operations (Operation::amount), by the
// rules of timm and torchvision.

#include <array>
#include <cstdint>

#include "data/augment/operation.h"
#include "data/geometry.h"
#include "data/random.h"

namespace shoal::data::augment {

// timm's operations. Each combines an effect with a rule that converts magnitudes (usually 0 … 10)
// to amounts.
enum class Level : uint8_t {
  auto_contrast,
  equalize,
  invert,
  rotate,
  posterize,             // keeps fewer bits at lower magnitudes; no bits below magnitude 2.5
  posterize_increasing,  // keeps fewer bits at higher magnitudes
  posterize_original,    // keeps 4 to 8 bits
  solarize,
  solarize_increasing,
  solarize_add,
  color,
  color_increasing,  // the higher the magnitude, the further the factor is above or below 1
  contrast,
  contrast_increasing,
  brightness,
  brightness_increasing,
  sharpness,
  sharpness_increasing,
  shear_x,
  shear_y,
  translate_x,  // shift at magnitude 10: TimmScene::translate
  translate_y,
  desaturate,
  gaussian_blur,
  gaussian_blur_random,  // random standard deviation, from 0.1 pixels to magnitude / 5 pixels
};

// Inputs of timm's rules besides the magnitude.
struct TimmScene {
  Size size;
  double translate = 0.45;  // shift at magnitude 10, as a fraction of the width or height
  Sampling sampling = Sampling::bicubic;
  std::array<uint8_t, 3> fill{};
};

// Returns the operation for a magnitude. For amounts that can be positive or negative, and for
// factors that can be above or below 1, draws from `random` which of the two. Also draws the
// standard deviation of gaussian_blur_random.
Operation timm_operation(Level level, double magnitude, const TimmScene& scene,
                         KeyedRandom& random);

// torchvision's ranges of amounts: `usual` for AutoAugment and RandAugment, `wide` for
// TrivialAugment.
enum class Range : uint8_t { usual, wide };

// Returns the operation for magnitude number `bin` (0 … bins - 1). For amounts that can be positive
// or negative, and for factors that can be above or below 1, draws from `random` which of the two.
// Geometric operations fill with black. `sampling`: the filter of geometric operations;
// torchvision's reference scripts use the same filter as for resizing the images.
Operation torchvision_operation(Effect effect, int64_t bin, int64_t bins, Range range,
                                const Size& size, Sampling sampling, KeyedRandom& random);

}  // namespace shoal::data::augment
