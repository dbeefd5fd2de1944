#pragma once
// A handle to a process group with the collectives that this program uses.
//
// - In a group of one, every collective is the identity and returns at once.
// - Every rank of the group makes the same calls in the same order, with tensors of equal shapes
//   and dtypes.
// - CPU tensors use Gloo. CUDA tensors use NCCL if the group has it, otherwise Gloo. Over Gloo, a
//   call returns when the data has arrived. Over NCCL, it only enqueues work on the current stream.
// - Tensors may have any strides; contiguous ones are not copied.
// - No call waits forever. Over Gloo, after the group's timeout or when a peer dies, the call
//   throws std::runtime_error that names the operation, the group, this rank, the seconds waited
//   and the transport's reason. The group is then unusable. Over NCCL, NCCL's watchdog thread ends
//   the process after a failure.
// - Use each group from one thread at a time. Group objects are cheap handles to one shared state.
//   Their destruction does not communicate.

#include <memory>
#include <string>
#include <vector>

#include "dist/health/progress.h"

namespace at {
class Tensor;
}

namespace shoal::dist {

struct GroupState;  // defined in group_state.h, which only files in dist/ include

class Group {
 public:
  Group() = default;  // a group of one
  explicit Group(std::shared_ptr<GroupState> state);
  // A group of one whose enter() and during() set the phase of `progress`.
  explicit Group(std::shared_ptr<Progress> progress) : progress_(std::move(progress)) {}

  int rank() const;  // 0 to size()-1
  int size() const;

  void all_reduce_sum(at::Tensor& tensor) const;       // in place
  void broadcast(at::Tensor& tensor, int root) const;  // in place: every rank gets root's values
  std::vector<at::Tensor> all_gather(const at::Tensor& tensor) const;  // one per rank, in order

  // Returns when every rank has called it. `name` describes the wait in errors ("end of training").
  // On a timeout, rank 0's error also lists the missing ranks.
  void barrier(const std::string& name) const;

  // enter() sets the phase of this process (health/progress.h). during() sets it until the returned
  // object is destroyed. Both have no effect in a default-constructed group.
  void enter(Phase phase) const;
  PhaseScope during(Phase phase, const std::string& operation = {}) const {
    return {progress_.get(), phase, operation};
  }

  const std::shared_ptr<GroupState>& state() const { return state_; }  // null for a group of one

 private:
  std::shared_ptr<GroupState> state_;
  std::shared_ptr<Progress> progress_;
};

}  // namespace shoal::dist
