// The word travels as one int64 tensor that is summed. What is not a sum is counted instead: how
// many ranks saw SIGINT, how many SIGTERM, how many ask for a checkpoint.

#include "dist/control_word.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <optional>
#include <stdexcept>

#include "dist/group_state.h"

namespace shoal::dist {

namespace {

enum Slot {
  kInterrupts,
  kTerminations,
  kCheckpoints,
  kUnreadableImages,
  kImages,
  kLoss,
  kOutOfData,
  kSlots
};

constexpr int kLossGrid = 24;             // bits behind the point
constexpr double kLargestLoss = 1 << 26;  // 4096 ranks of such sums fit into the slot

void write(const ControlWord& word, int64_t* slots) {
  slots[kInterrupts] = word.stop_signal == SIGINT;
  slots[kTerminations] = word.stop_signal == SIGTERM;
  slots[kCheckpoints] = word.checkpoint_requested;
  slots[kUnreadableImages] = word.unreadable_images;
  slots[kImages] = word.images;
  slots[kLoss] =
      std::llround(std::ldexp(std::clamp(word.loss_sum, -kLargestLoss, kLargestLoss), kLossGrid));
  slots[kOutOfData] = word.out_of_data;
}

ControlWord read(const int64_t* slots) {
  ControlWord word;
  word.stop_signal = slots[kTerminations] ? SIGTERM : slots[kInterrupts] ? SIGINT : 0;
  word.checkpoint_requested = slots[kCheckpoints] > 0;
  word.unreadable_images = slots[kUnreadableImages];
  word.images = slots[kImages];
  word.loss_sum = std::ldexp(static_cast<double>(slots[kLoss]), -kLossGrid);
  word.out_of_data = slots[kOutOfData];
  return word;
}

}  // namespace

struct ControlChannel::Impl {
  std::shared_ptr<GroupState> state;  // null for a group of one
  at::Tensor tensor = at::zeros({kSlots}, at::kLong);
  c10::intrusive_ptr<c10d::Work> work;
  bool posted = false;
};

ControlChannel::ControlChannel(const Group& group) : impl_(std::make_unique<Impl>()) {
  impl_->state = group.state();
}

ControlChannel::~ControlChannel() {
  // A word in flight may never arrive, so nobody may wait for it, not even the group's destructor.
  if (impl_->work && !impl_->work->isCompleted()) impl_->state->abandoned = true;
}

void ControlChannel::post(const ControlWord& word) {
  if (impl_->posted)
    throw std::logic_error("a control word is posted before the last one is collected");
  if (word.stop_signal != 0 && word.stop_signal != SIGINT && word.stop_signal != SIGTERM)
    throw std::invalid_argument("signal " + std::to_string(word.stop_signal) +
                                " does not fit into the control word");
  write(word, impl_->tensor.mutable_data_ptr<int64_t>());
  impl_->posted = true;
  if (!impl_->state) return;
  guarded(*impl_->state, "posting the control word", [&] {
    std::vector<at::Tensor> list = {impl_->tensor};
    impl_->work = impl_->state->gloo->allreduce(list);
  });
}

ControlWord ControlChannel::collect() {
  if (!impl_->posted) return {};
  impl_->posted = false;
  if (impl_->work)
    guarded(*impl_->state, "waiting for the control word", [&] { impl_->work->wait(); });
  impl_->work.reset();
  return read(impl_->tensor.const_data_ptr<int64_t>());
}

}  // namespace shoal::dist
