#pragma once
// The weight formula documented in tests/golden/scripts/make_models.py.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

#include "models/model.h"

namespace shoal::models::testing {

uint64_t fnv(const std::string& text);
// Returns pseudo-random values that depend only on `name`: uniform in [-1, 1), double, row-major.
at::Tensor uniform(const std::string& name, at::IntArrayRef shape);
// Fills every parameter and buffer of the model with the formula, in `dtype`. 4-D tensors are
// channels-last.
void fill(Classifier& model, at::ScalarType dtype = at::kDouble);
// Returns 2×3×64×64 images from the formula, channels-last.
at::Tensor test_images(at::ScalarType dtype = at::kDouble);

}  // namespace shoal::models::testing
