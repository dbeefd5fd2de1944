#pragma once
// Shears, translates and rotates an image like Pillow's Image.transform.

#include <array>
#include <cstdint>
#include <vector>

#include "data/augment/bordered.h"
#include "data/augment/kernels.h"
#include "data/augment/operation.h"
#include "data/geometry.h"
#include "data/image/planar_kernels.h"

namespace shoal::data::augment {

// Maps the position (x, y) in the result to the source position x' = m[0] x + m[1] y + m[2],
// y' = m[3] x + m[4] y + m[5]. The center of the first pixel is (0.5, 0.5).
using Matrix = std::array<double, 6>;
// Returns the matrix of a shear, translation or rotation; the identity for other effects.
Matrix matrix_of(const Operation& operation, const Size& size);

// Applies a shear, translation or rotation to height×width×3 RGB pixels in place. Pixels whose
// source is outside the image get operation.fill. `source` and `line` are scratch memory.
void transform(const Operation& operation, const Kernels& kernels, const PlanarKernels& sums,
               uint8_t* pixels, const Size& size, Bordered& source, std::vector<uint8_t>& line);

}  // namespace shoal::data::augment
