#pragma once
// One augmentation operation with fixed parameters. Policies draw the parameters and produce lists
// of operations.

#include <array>
#include <cstdint>

namespace shoal::data::augment {

// Each effect is the function of the same name in Pillow, torchvision or timm. The comment after an
// effect gives the meaning of Operation::amount; effects without an amount ignore it.
enum class Effect : uint8_t {
  identity,
  auto_contrast,
  equalize,
  invert,
  posterize,      // number of bits kept, 0 … 8
  solarize,       // threshold; levels at or above it are inverted
  solarize_add,   // value added to levels below 128
  brightness,     // factor; 0: black, 1: unchanged
  contrast,       // factor; 0: the mean gray
  color,          // saturation factor; 0: gray
  sharpness,      // factor; 0: smoothed, 1: unchanged
  hue,            // shift, as a fraction (-0.5 … 0.5) of the color circle
  grayscale,      // luma in all channels
  shear_x,        // the source of a pixel in row y is amount × y pixels to the right
  shear_y,        // the source of a pixel in column x is amount × x pixels below
  translate_x,    // the source of a pixel is this many pixels to the right
  translate_y,    // the source of a pixel is this many pixels below
  rotate,         // degrees counter-clockwise, about the center
  box_blur,       // standard deviation in pixels; three box filters, as in Pillow
  gaussian_blur,  // standard deviation in pixels; 23 × 23 kernel, as in torchvision
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
