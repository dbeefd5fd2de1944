// The message is one int64 tensor that is summed over the ranks. The elements for SIGINT, SIGTERM,
// checkpoint requests and out_of_data then contain the number of ranks that posted 1.

#include "dist/control_message.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros.h>

#include <csignal>
#include <stdexcept>

#include "dist/group_state.h"

namespace shoal::dist {

namespace {

enum Slot {
  kInterrupts,
  kTerminations,
  kCheckpoints,
  kUnreadableImages,
  kTrainedMs,
  kOutOfData,
  kSlots
};

void write(const ControlMessage& message, int64_t* slots) {
  slots[kInterrupts] = message.stop_signal == SIGINT;
  slots[kTerminations] = message.stop_signal == SIGTERM;
  slots[kCheckpoints] = message.checkpoint_requested;
  slots[kUnreadableImages] = message.unreadable_images;
  slots[kTrainedMs] = message.trained_ms;
  slots[kOutOfData] = message.out_of_data;
}

ControlMessage read(const int64_t* slots) {
  ControlMessage message;
  message.stop_signal = slots[kTerminations] ? SIGTERM : slots[kInterrupts] ? SIGINT : 0;
  message.checkpoint_requested = slots[kCheckpoints] > 0;
  message.unreadable_images = slots[kUnreadableImages];
  message.trained_ms = slots[kTrainedMs];
  message.out_of_data = slots[kOutOfData];
  return message;
}

}  // namespace

struct ControlChannel::Impl {
  std::shared_ptr<GroupState> state;  // null for a group of one
  at::Tensor tensor = at::zeros({kSlots}, at::kLong);
  c10::intrusive_ptr<c10d::Work> work;
  bool in_flight = false;
};

ControlChannel::ControlChannel(const Group& group) : impl_(std::make_unique<Impl>()) {
  impl_->state = group.state();
}

ControlChannel::~ControlChannel() {
  // A message in flight may never arrive, so nothing may wait for it, not even the group's
  // destructor.
  if (impl_->work && !impl_->work->isCompleted()) impl_->state->abandoned = true;
}

void ControlChannel::post(const ControlMessage& message) {
  if (impl_->in_flight)
    throw std::logic_error("post() called before the previous control message was collected");
  if (message.stop_signal != 0 && message.stop_signal != SIGINT && message.stop_signal != SIGTERM)
    throw std::invalid_argument("signal " + std::to_string(message.stop_signal) +
                                " cannot be sent in a control message");
  write(message, impl_->tensor.mutable_data_ptr<int64_t>());
  impl_->in_flight = true;
  if (!impl_->state) return;
  guarded(*impl_->state, "sending the control message", [&] {
    std::vector<at::Tensor> list = {impl_->tensor};
    impl_->work = impl_->state->gloo->allreduce(list);
  });
}

ControlMessage ControlChannel::collect() {
  if (!impl_->in_flight) return {};
  impl_->in_flight = false;
  if (impl_->work)
    guarded(*impl_->state, "waiting for the control message", [&] { impl_->work->wait(); });
  impl_->work.reset();
  return read(impl_->tensor.const_data_ptr<int64_t>());
}

}  // namespace shoal::dist
