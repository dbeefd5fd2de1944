#include "train/read_back.h"

#include <ATen/ops/empty.h>
#include <c10/core/Stream.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <bit>

namespace shoal::train {

std::vector<at::Tensor> read_back(std::vector<at::Tensor> tensors) {
  if (tensors.empty() || tensors.front().is_cpu()) return tensors;
  const at::Device device = tensors.front().device();
  for (at::Tensor& tensor : tensors) {
    const auto options = at::TensorOptions(tensor.scalar_type()).pinned_memory(true);
    tensor = at::empty(tensor.sizes(), options).copy_(tensor, /*non_blocking=*/true);
  }
  c10::impl::VirtualGuardImpl(device.type()).getStream(device).synchronize();
  return tensors;
}

Meter meter_of(const at::Tensor& sums, int64_t images) {
  const auto* values = sums.const_data_ptr<int64_t>();
  return {.loss = Meter::exact(std::bit_cast<double>(values[0])),
          .top1 = static_cast<double>(values[1]),
          .top5 = static_cast<double>(values[2]),
          .images = static_cast<double>(images)};
}

}  // namespace shoal::train
