#pragma once
// Converts the magnitudes of a policy to the amounts of operations (Operation::amount), by the
// rules of timm and torchvision.

#include <array>
#include <cstdint>

#include "data/augment/operation.h"
#include "data/geometry.h"
#include "data/random.h"

namespace shoal::data::augment {

// timm's operations. Each combines an effect with a rule that maps the magnitudes 0 … 10 to
// amounts.
enum class Level : uint8_t {
  auto_contrast,
  equalize,
  invert,
  rotate,
  posterize,             // fewer bits with a lower magnitude, down to 0
  posterize_increasing,  // fewer bits with a higher magnitude
  posterize_original,    // 4 to 8 bits
  solarize,
  solarize_increasing,
  solarize_add,
  color,
  color_increasing,  // the factor moves away from 1, up or down, with the magnitude
  contrast,
  contrast_increasing,
  brightness,
  brightness_increasing,
  sharpness,
  sharpness_increasing,
  shear_x,
  shear_y,
  translate_x,  // as a fraction of the side
  translate_y,
  desaturate,
  gaussian_blur,
  gaussian_blur_random,  // random standard deviation, 0.1 to 0.2 * magnitude pixels
};

// Inputs of timm's rules besides the magnitude.
struct TimmScene {
  Size size;
  double translate = 0.45;  // shift at magnitude 10, as a fraction of the side
  Sampling sampling = Sampling::bicubic;
  std::array<uint8_t, 3> fill{};
};

// Returns the operation for a magnitude. Draws from `random` the direction of an amount that can be
// positive or negative, or above or below 1, and the standard deviation of gaussian_blur_random.
Operation timm_operation(Level level, double magnitude, const TimmScene& scene,
                         KeyedRandom& random);

// torchvision's ranges of amounts: `usual` for AutoAugment and RandAugment, `wide` for
// TrivialAugment.
enum class Range : uint8_t { usual, wide };

// Returns the operation for the magnitude number `bin`, 0 … bins-1. Draws from `random` the
// direction of an amount that can be positive or negative, or above or below 1. The operation uses
// nearest-neighbor sampling and fills with black.
Operation torchvision_operation(Effect effect, int64_t bin, int64_t bins, Range range,
                                const Size& size, KeyedRandom& random);

}  // namespace shoal::data::augment
