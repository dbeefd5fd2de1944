#include "dist/group.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>
#include <c10/core/GradMode.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <cstdio>
#include <mutex>
#include <stdexcept>

#include "base/now.h"
#include "dist/group_state.h"
#include "dist/transport_error.h"

namespace shoal::dist {

namespace {

// A tensor in contiguous memory, as communication requires: the tensor itself if it is contiguous,
// otherwise a copy. copy_back() writes the copy to the original.
class Contiguous {
 public:
  explicit Contiguous(at::Tensor& tensor)
      : original_(tensor), tensor_(tensor.detach().contiguous()) {}
  std::vector<at::Tensor> list() const { return {tensor_}; }
  void copy_back() {
    if (tensor_.data_ptr() == original_.data_ptr()) return;
    c10::NoGradGuard no_grad;
    original_.copy_(tensor_);
  }

 private:
  at::Tensor& original_;
  at::Tensor tensor_;
};

}  // namespace

GroupState::~GroupState() {
  if (!abandoned) return;
  // The backends' destructors could wait forever, so they are never called. The backends stay
  // reachable, so leak checkers do not report them.
  static std::mutex mutex;
  static auto* const kept = new std::vector<c10::intrusive_ptr<c10::intrusive_ptr_target>>;
  const std::lock_guard lock(mutex);
  for (const auto& backend : {gloo, nccl})
    if (backend) kept->push_back(backend);
}

c10d::Backend& GroupState::backend_for(const at::Tensor& tensor) const {
  if (!tensor.is_cuda()) return *gloo;
  if (nccl) return *nccl;
  // Gloo's threads wait only for the default stream. They could read a tensor before another stream
  // has computed it.
  const c10::impl::VirtualGuardImpl cuda(at::kCUDA);
  if (cuda.getStream(tensor.device()) != cuda.getDefaultStream(tensor.device()))
    throw std::logic_error("Gloo needs tensors that were computed on the default stream");
  return *gloo;
}

std::string describe_failure(const GroupState& state, const std::string& operation, double start,
                             const std::exception& error) {
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%.1f", now() - start);
  return "rank " + std::to_string(state.rank) + " of " + std::to_string(state.size) + ": " +
         operation + " in group " + state.name + " failed after " + seconds +
         " s: " + transport_message(error);
}

void guarded(GroupState& state, const std::string& operation, const std::function<void()>& body) {
  const double start = now();
  const PhaseScope waiting(state.progress.get(), Phase::waiting, operation);
  try {
    body();
  } catch (const std::exception& error) {
    state.abandoned = true;
    throw std::runtime_error(describe_failure(state, operation, start, error));
  }
}

Group::Group(std::shared_ptr<GroupState> state)
    : state_(std::move(state)), progress_(state_ ? state_->progress : nullptr) {}

int Group::rank() const {
  return state_ ? state_->rank : 0;
}
int Group::size() const {
  return state_ ? state_->size : 1;
}

void Group::enter(Phase phase) const {
  if (progress_) progress_->enter(phase);
}

void Group::all_reduce_sum(at::Tensor& tensor) const {
  if (!state_) return;
  guarded(*state_, "all_reduce_sum", [&] {
    Contiguous whole(tensor);
    auto list = whole.list();
    state_->backend_for(tensor).allreduce(list)->wait();
    whole.copy_back();
  });
}

void Group::broadcast(at::Tensor& tensor, int root) const {
  if (root < 0 || root >= size())
    throw std::invalid_argument("broadcast from rank " + std::to_string(root) + " of " +
                                std::to_string(size()));
  if (!state_) return;
  guarded(*state_, "broadcast from rank " + std::to_string(root), [&] {
    Contiguous whole(tensor);
    auto list = whole.list();
    c10d::BroadcastOptions options;
    options.rootRank = root;
    state_->backend_for(tensor).broadcast(list, options)->wait();
    whole.copy_back();
  });
}

std::vector<at::Tensor> Group::all_gather(const at::Tensor& tensor) const {
  if (!state_) return {tensor.detach().clone()};
  std::vector<std::vector<at::Tensor>> outputs(1);
  guarded(*state_, "all_gather", [&] {
    std::vector<at::Tensor> inputs = {tensor.detach().contiguous()};
    for (int r = 0; r < size(); ++r) outputs[0].push_back(at::empty_like(inputs[0]));
    state_->backend_for(tensor).allgather(outputs, inputs)->wait();
  });
  return std::move(outputs[0]);
}

void Group::barrier(const std::string& name) const {
  if (!state_) return;
  guarded(*state_, "barrier '" + name + "'",
          [&] { state_->gloo->monitoredBarrier({}, /*waitAllRanks=*/true); });
}

}  // namespace shoal::dist
