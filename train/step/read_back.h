#pragma once
// Copies small tensors, such as the metrics of a step, from the device to the host.

#include <ATen/core/Tensor.h>

#include <vector>

#include "train/job/meter.h"

namespace shoal::train {

// Copies small tensors of one device to the host. Waits for the device once. Returns tensors that
// are already on the CPU as they are.
std::vector<at::Tensor> read_back(std::vector<at::Tensor> tensors);

// Returns loss, top1, top5 and images (as in Meter) summed over a rank's micro-batches: a tensor of
// 4 float64 on the device of `sums`. `sums`: models::LossResult::sums of each micro-batch.
// `images`: number of images in all micro-batches.
at::Tensor device_meter(const std::vector<at::Tensor>& sums, int64_t images);

// Converts a host copy of device_meter()'s result.
Meter meter_of(const at::Tensor& values);

}  // namespace shoal::train
