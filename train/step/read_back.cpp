#include "train/step/read_back.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/stack.h>

#include "models/functions.h"

namespace shoal::train {

std::vector<at::Tensor> read_back(std::vector<at::Tensor> tensors) {
  if (tensors.empty() || tensors.front().is_cpu()) return tensors;
  const at::Device device = tensors.front().device();
  for (at::Tensor& tensor : tensors) {
    const auto options = at::TensorOptions(tensor.scalar_type()).pinned_memory(true);
    tensor = at::empty(tensor.sizes(), options).copy_(tensor, /*non_blocking=*/true);
  }
  models::current_stream(device).synchronize();
  return tensors;
}

at::Tensor device_meter(const std::vector<at::Tensor>& sums, int64_t images) {
  const at::Tensor bits = at::stack(sums);  // micro-batches × 3; column 0: bits of float64 losses
  at::Tensor values = bits.to(at::kDouble);
  const at::Tensor losses = bits.select(1, 0).view(at::kDouble);
  values.select(1, 0).copy_(losses);
  return at::cat({values.sum(0), at::full({1}, images, values.options())});
}

Meter meter_of(const at::Tensor& values) {
  const auto* const v = values.const_data_ptr<double>();
  return {.loss = v[0], .top1 = v[1], .top5 = v[2], .images = v[3]};
}

}  // namespace shoal::train
