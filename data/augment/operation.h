#pragma once
// One augmentation operation whose random values are already drawn. Policies produce lists of
// operations.

#include <array>
#include <cstdint>

namespace shoal::data::augment {

// Each effect is the function of the same name in Pillow, torchvision or timm. The comments give
// the meaning of Operation::amount.
enum class Effect : uint8_t {
  identity,
  auto_contrast,
  equalize,
  invert,
  posterize,      // number of bits kept, 0 … 8
  solarize,       // threshold: levels from here on are inverted
  solarize_add,   // value added to levels below 128
  brightness,     // factor; 0: black, 1: unchanged
  contrast,       // factor; 0: the mean gray
  color,          // saturation factor; 0: gray
  sharpness,      // factor; 0: smoothed
  hue,            // shift as a fraction of the color circle, -0.5 … 0.5
  grayscale,      // luma in all channels
  shear_x,        // row y reads pixels that are amount × y further right
  shear_y,        // column x reads pixels that are amount × x further down
  translate_x,    // each pixel reads its source this many pixels further right
  translate_y,    // each pixel reads its source this many pixels further down
  rotate,         // degrees counter-clockwise, about the center
  box_blur,       // standard deviation in pixels; three box filters, like Pillow
  gaussian_blur,  // standard deviation in pixels; 23 × 23 kernel, like torchvision
};

enum class Sampling : uint8_t { nearest, bilinear, bicubic };

struct Operation {
  Effect effect = Effect::identity;
  double amount = 0;
  // For shear, translate and rotate: interpolation, and the RGB color of pixels whose source is
  // outside the image.
  Sampling sampling = Sampling::nearest;
  std::array<uint8_t, 3> fill{};
};

}  // namespace shoal::data::augment
