#pragma once
// Shearing, translating and rotating an image as Pillow's Image.transform does it.

#include <array>
#include <cstdint>
#include <vector>

#include "data/augment/bordered.h"
#include "data/augment/kernels.h"
#include "data/augment/operation.h"
#include "data/image/geometry.h"
#include "data/image/planar_kernels.h"

namespace shoal::data::augment {

// Where the pixel (x, y) of the result looks: x' = m[0] x + m[1] y + m[2], y' = m[3] x + m[4] y +
// m[5], with the centre of the first pixel at (0.5, 0.5).
using Matrix = std::array<double, 6>;
Matrix matrix_of(const Operation& operation, const Size& size);

// In place: pixels that look outside take the fill colour. `source` and `line` are overwritten.
void transform(const Operation& operation, const Kernels& kernels, const PlanarKernels& sums,
               uint8_t* pixels, const Size& size, Bordered& source, std::vector<uint8_t>& line);

}  // namespace shoal::data::augment
