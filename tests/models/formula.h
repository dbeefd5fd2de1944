#pragma once
// The weight formula of tests/golden/make_models.py, which explains it.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

#include "models/model.h"

namespace shoal::models::testing {

uint64_t fnv(const std::string& text);
// Uniform in [-1, 1), double, row-major.
at::Tensor uniform(const std::string& name, at::IntArrayRef shape);
// Replaces every parameter and buffer of the model by the formula's, in `dtype`, channels-last
// where 4-D.
void fill(Classifier& model, at::ScalarType dtype = at::kDouble);
// 2×3×64×64 images of the formula, channels-last.
at::Tensor test_images(at::ScalarType dtype = at::kDouble);

}  // namespace shoal::models::testing
