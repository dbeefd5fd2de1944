#pragma once
// One change of an image's pixels, with everything drawn: what policies come down to.

#include <array>
#include <cstdint>

namespace shoal::data::augment {

// Each does what the function of that name does in Pillow, torchvision or timm; `amount` is
enum class Effect : uint8_t {
  identity,
  auto_contrast,
  equalize,
  invert,
  posterize,      // bits that are kept, 0 … 8
  solarize,       // levels from here on are inverted
  solarize_add,   // levels added to those below 128
  brightness,     // factor; 0: black, 1: as it is
  contrast,       // factor; 0: the mean grey
  color,          // factor of saturation; 0: grey
  sharpness,      // factor; 0: smoothed
  hue,            // shift, as a share of the colour circle, -0.5 … 0.5
  grayscale,      // luma in all channels
  shear_x,        // each row looks amount × row pixels further right
  shear_y,        // each column looks amount × column pixels further down
  translate_x,    // pixels that every pixel looks further right
  translate_y,    // pixels that every pixel looks further down
  rotate,         // degrees counter-clockwise, about the centre
  box_blur,       // standard deviation in pixels, as Pillow approximates it by three box filters
  gaussian_blur,  // standard deviation in pixels, over 23 × 23 pixels as torchvision does it
};

enum class Sampling : uint8_t { nearest, bilinear, bicubic };

struct Operation {
  Effect effect = Effect::identity;
  double amount = 0;
  // Of shear, translate and rotate: how they look between pixels, and what lies outside (RGB).
  Sampling sampling = Sampling::nearest;
  std::array<uint8_t, 3> fill{};
};

}  // namespace shoal::data::augment
