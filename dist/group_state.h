#pragma once
// The shared state of a Group of two or more ranks. For the files of this folder.

#include <functional>
#include <memory>
#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "dist/health/progress.h"

namespace shoal::dist {

struct GroupState {
  GroupState() = default;
  GroupState(const GroupState&) = delete;
  GroupState& operator=(const GroupState&) = delete;
  ~GroupState();

  std::string name;  // such as "main"; only messages use it
  int rank = 0, size = 1;
  std::shared_ptr<Progress> progress;  // phase of this process
  c10::intrusive_ptr<c10d::Backend> gloo;
  c10::intrusive_ptr<c10d::Backend> nccl;        // may be null
  void (*close_nccl)(c10d::Backend*) = nullptr;  // from NcclFunctions, if `nccl` is set

  // Set if unfinished work may never end, because a peer hangs or died. The destructor then leaks
  // the backends, because their destructors would wait for that work.
  bool abandoned = false;

  // Returns NCCL for CUDA tensors if the group has it, otherwise Gloo. Throws std::logic_error if
  // Gloo would get a CUDA tensor while the current stream is not the default stream.
  c10d::Backend& backend_for(const at::Tensor& tensor) const;
};

// Returns a text such as "rank 1 of 3: all_reduce_sum in group main failed after 12.3 s: Connection
// closed by peer". `start`: now() when the operation began.
std::string describe_failure(const GroupState& state, const std::string& operation, double start,
                             const std::exception& error);

// Runs `body` in Phase::waiting. Converts any exception to std::runtime_error with
// describe_failure()'s text and marks the group as abandoned.
void guarded(GroupState& state, const std::string& operation, const std::function<void()>& body);

}  // namespace shoal::dist
