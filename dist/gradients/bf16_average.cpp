#include "dist/gradients/bf16_average.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/zeros.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "dist/group_state.h"

namespace shoal::dist {

namespace {

// Returns a view of the tensor as bytes: a dtype that Gloo and NCCL transfer on every device.
at::Tensor bytes_of(const at::Tensor& tensor) {
  return tensor.view({-1}).view(at::kByte);
}

// Makes work queued on `later` from now on wait for the work already queued on `earlier`. Does not
// block the host.
void put_after(const c10::Stream& later, const c10::Stream& earlier) {
  c10::Event done(earlier.device_type());
  done.record(earlier);
  done.block(later);
}

c10::Stream current_stream(const c10::Device& device) {
  return c10::impl::VirtualGuardImpl(device.type()).getStream(device);
}

}  // namespace

Bf16Average::Bf16Average(const GroupState& state, at::Tensor numbers,
                         std::optional<c10::Stream> stream)
    : state_(state), numbers_(std::move(numbers)), stream_(stream) {
  const int64_t ranks = state.size, piece = (numbers_.numel() + ranks - 1) / ranks;
  const auto bf16 = numbers_.options().dtype(at::kBFloat16);
  copies_ = at::zeros({ranks, piece}, bf16);
  unpadded_copies_ = copies_.view({-1}).narrow(0, 0, numbers_.numel());
  received_ = at::empty({ranks, piece}, bf16);
  mean_ = at::empty({piece}, bf16);
}

void Bf16Average::send_copies() {
  if (stream_) put_after(*stream_, current_stream(numbers_.device()));
  const c10::OptionalStreamGuard guard(stream_);
  unpadded_copies_.copy_(numbers_);
  at::Tensor from = bytes_of(copies_), to = bytes_of(received_);
  std::vector<int64_t> equal;  // empty: pieces of equal length
  work_ = state_.backend_for(numbers_).alltoall_base(to, from, equal, equal);
}

void Bf16Average::send_mean() {
  const c10::OptionalStreamGuard guard(stream_);
  work_->wait();
  mean_.copy_(at::sum(received_, 0, /*keepdim=*/false, at::kFloat).div_(state_.size));
  at::Tensor from = bytes_of(mean_), to = bytes_of(copies_);
  work_ = state_.backend_for(numbers_)._allgather_base(to, from);
}

void Bf16Average::finish() {
  {
    const c10::OptionalStreamGuard guard(stream_);
    work_->wait();
    work_.reset();
    numbers_.copy_(unpadded_copies_);
  }
  if (stream_) put_after(current_stream(numbers_.device()), *stream_);
}

}  // namespace shoal::dist
