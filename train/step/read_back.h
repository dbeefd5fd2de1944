#pragma once
// Copies the few numbers that describe a step from the device to the host.

#include <ATen/core/Tensor.h>

#include <vector>

#include "train/job/meter.h"

namespace shoal::train {

// Returns host copies of small tensors that are all on the same device. Waits for the device only
// once.
std::vector<at::Tensor> read_back(std::vector<at::Tensor> tensors);

// Converts a host copy of models::LossResult::sums to a meter of `images` images.
Meter meter_of(const at::Tensor& sums, int64_t images);

}  // namespace shoal::train
