#include "train/step/read_back.h"

#include <ATen/ops/empty.h>

#include <cstring>

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

Meter meter_of(const at::Tensor& sums, int64_t images) {
  const auto* values = sums.const_data_ptr<int64_t>();
  double loss;
  std::memcpy(&loss, values, sizeof loss);
  return {.loss = Meter::exact(loss),
          .top1 = static_cast<double>(values[1]),
          .top5 = static_cast<double>(values[2]),
          .images = static_cast<double>(images)};
}

}  // namespace shoal::train
