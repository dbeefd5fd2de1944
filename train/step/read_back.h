#pragma once
// From the device to the host: the few numbers that tell how a step went.

#include <ATen/core/Tensor.h>

#include <vector>

#include "train/run/meter.h"

namespace shoal::train {

// The same small tensors, all of one device, in the host's memory. Waits for the device once, and
// not for each of them.
std::vector<at::Tensor> read_back(std::vector<at::Tensor> tensors);

// Of models::LossResult::sums in the host's memory, over `images` images.
Meter meter_of(const at::Tensor& sums, int64_t images);

}  // namespace shoal::train
