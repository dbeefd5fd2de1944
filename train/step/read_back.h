#pragma once
// Copies the few numbers that describe a step from the device to the host.

#include <ATen/core/Tensor.h>

#include <vector>

#include "train/job/meter.h"

namespace shoal::train {

// Returns host copies of small tensors that are all on the same device. Waits for the device only
// once.
std::vector<at::Tensor> read_back(std::vector<at::Tensor> tensors);

// Returns loss, top1, top5 and images of a rank's micro-batches: 4 float64 on the device of `sums`,
// which may be summed over ranks. Each loss is rounded like Meter::exact(), so such sums are exact.
// `sums`: models::LossResult::sums of each micro-batch. `images`: number of images in all of them.
at::Tensor device_meter(const std::vector<at::Tensor>& sums, int64_t images);

// Converts a host copy of device_meter()'s result.
Meter meter_of(const at::Tensor& values);

}  // namespace shoal::train
