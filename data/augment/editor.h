#pragma once
// Applies augmentation operations to pixels.

#include <cstdint>
#include <vector>

#include "data/augment/bordered.h"
#include "data/augment/kernels.h"
#include "data/augment/operation.h"
#include "data/geometry.h"
#include "data/image/planar_kernels.h"

namespace shoal::data::augment {

// Use one object per thread; it reuses its memory. With the same parameters, pixel values differ by
// at most 1 (of 255) from Pillow 13, torchvision 0.26 and timm 1.0; most operations match exactly
// (tests/data/augment). Gives the same bits on every processor.
class Editor {
 public:
  explicit Editor(Isa isa = best_isa());

  // Applies `operation` in place to height×width×3 RGB pixels without row padding.
  void apply(const Operation& operation, uint8_t* pixels, const Size& size);

  // Sets `pixels` to pixels + share * (other - pixels), truncated to integers, like Pillow's
  // Image.blend.
  void blend(uint8_t* pixels, const uint8_t* other, double share, const Size& size);

 private:
  void color(double factor, uint8_t* pixels, const Size& size);
  void contrast(double factor, uint8_t* pixels, const Size& size);
  void sharpness(double factor, uint8_t* pixels, const Size& size);
  void box_blur(double deviation, uint8_t* pixels, const Size& size);
  void gaussian_blur(double deviation, uint8_t* pixels, const Size& size);

  const Kernels& kernels_;
  const PlanarKernels& sums_;
  Bordered bordered_;
  std::vector<uint8_t> scratch_;
};

}  // namespace shoal::data::augment
