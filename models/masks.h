#pragma once
// Random masks without a generator: a value is a hash of (run seed, layer, image key [,
// element]), so the same image gets the same mask at any world size, batch size and thread count.

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "models/step_context.h"

namespace shoal::models {

// Uniform in [0, 1), 53 bits.
double hashed_uniform(uint64_t seed, uint64_t layer, uint64_t key, uint64_t element);

// One value per row, on like's device and in its dtype: 0 with probability `drop`, else 1 / (1 -
// drop).
at::Tensor row_mask(const at::Tensor& like, double drop, uint64_t layer,
                    const StepContext& context);

// The same for every element of an N×F tensor.
at::Tensor element_mask(const at::Tensor& like, double drop, uint64_t layer,
                        const StepContext& context);

}  // namespace shoal::models
