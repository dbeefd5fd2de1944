#pragma once
// How strong an operation of a policy is: from a magnitude to the operation's amount, by the rules
// of timm and of torchvision.

#include <array>
#include <cstdint>

#include "data/augment/operation.h"
#include "data/image/geometry.h"
#include "data/random.h"

namespace shoal::data::augment {

// timm's operations: an effect, and how magnitudes 0 … 10 become its amount.
enum class Level : uint8_t {
  auto_contrast,
  equalize,
  invert,
  rotate,
  posterize,             // fewer bits with a lower magnitude, down to none
  posterize_increasing,  // fewer bits with a higher magnitude
  posterize_original,    // 4 to 8 bits
  solarize,
  solarize_increasing,
  solarize_add,
  color,
  color_increasing,  // away from 1 with the magnitude, to either side
  contrast,
  contrast_increasing,
  brightness,
  brightness_increasing,
  sharpness,
  sharpness_increasing,
  shear_x,
  shear_y,
  translate_x,  // as a share of the side
  translate_y,
  desaturate,
  gaussian_blur,
  gaussian_blur_random,  // a radius up to that of the magnitude
};

struct TimmScene {
  Size size;
  double translate = 0.45;  // share of the side that magnitude 10 moves
  Sampling sampling = Sampling::bicubic;
  std::array<uint8_t, 3> fill{124, 116, 104};  // ImageNet's mean
};

// `random` decides on the sign where there are two.
Operation timm_operation(Level level, double magnitude, const TimmScene& scene,
                         KeyedRandom& random);

// torchvision's ranges: those of AutoAugment and RandAugment, or TrivialAugment's wide ones.
enum class Range : uint8_t { usual, wide };

// Magnitude `bin` of 0 … bins-1. Nearest pixels, black outside.
Operation torchvision_operation(Effect effect, int64_t bin, int64_t bins, Range range,
                                const Size& size, KeyedRandom& random);

}  // namespace shoal::data::augment
