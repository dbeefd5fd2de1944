#pragma once
// Random masks without generator state (ops::Mask): an image gets the same mask for any world size,
// batch size and thread count.

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "models/step_context.h"

namespace shoal::models {

// Returns the dropout rate of a step: `dropout` * context.strength, at most 0.999.
double dropout_rate(double dropout, const StepContext& context);

// Returns one value per row of `like`, on its device and in its dtype: 0 with probability `drop`,
// otherwise 1 / (1 - drop). `layer`: from NetworkBuilder::next_mask_layer(). Throws
// std::logic_error if the context has no keys.
at::Tensor row_mask(const at::Tensor& like, double drop, uint64_t layer,
                    const StepContext& context);

// Like row_mask(), with one value per element of an N×F tensor.
at::Tensor element_mask(const at::Tensor& like, double drop, uint64_t layer,
                        const StepContext& context);

}  // namespace shoal::models
