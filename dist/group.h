#pragma once
// A handle to a group of ranks: the collectives that this program uses, and nothing else.
//
// - A group of one is ordinary: every collective is the identity and returns at once.
// - Every rank of the group makes the same calls in the same order, with tensors of equal shapes
//   and types.
// - CPU tensors travel over Gloo; CUDA tensors over NCCL where the group has it. On the CPU a call
//   returns when the result is there; on a GPU when it is enqueued on the current stream (the host
//   does not wait).
// - Any strided tensor is accepted; a contiguous one is not copied.
// - Every wait ends: after the group's timeout, or when a peer dies, the call throws
//   std::runtime_error naming the operation, the group, this rank, the seconds waited and the
//   transport's reason. The group is then unusable. Over NCCL, where the host does not wait, NCCL's
//   watchdog ends the process instead.
// - One thread at a time per group. Handles are cheap copies of one shared state. Destruction does
//   not communicate.

#include <memory>
#include <string>
#include <vector>

#include "dist/health/progress.h"

namespace at {
class Tensor;
}

namespace shoal::dist {

struct GroupState;  // group_state.h, for the files of this folder

class Group {
 public:
  Group() = default;  // a group of one
  explicit Group(std::shared_ptr<GroupState> state);

  int rank() const;  // 0 … size()-1
  int size() const;

  void all_reduce_sum(at::Tensor& tensor) const;       // in place
  void broadcast(at::Tensor& tensor, int root) const;  // in place: everybody gets root's values
  std::vector<at::Tensor> all_gather(const at::Tensor& tensor) const;  // size() tensors, by rank

  // Returns when every rank has called it. `name` says what was waited for ("end of training"); on
  // a time-out rank 0's error also lists the ranks that did not arrive.
  void barrier(const std::string& name) const;

  // What this process does from now on, for those who wait for it. A group of one: nobody does.
  void enter(Phase phase) const;

  const std::shared_ptr<GroupState>& state() const { return state_; }  // null for a group of one

 private:
  std::shared_ptr<GroupState> state_;
};

}  // namespace shoal::dist
