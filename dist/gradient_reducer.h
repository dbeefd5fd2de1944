#pragma once
// Averages gradients over the ranks of a group, while backward is still computing.
//
// For each micro-batch m of the A micro-batches of a step:
//
//     reducer.prepare(m == A - 1);  // before forward; true only for the last micro-batch
//     loss = forward(...);
//     loss.backward();              // after true: starts to average gradients as they complete;
//                                   // after false: gradients only accumulate on this rank
//
// Once per step, after the last backward:
//
//     reducer.finish();
//
// After finish(), every rank has the same gradients: the mean over ranks of the sum over
// micro-batches.
//
// Each rank scales its own loss. If each rank's loss is the mean over equally many images, divided
// by A, the result is the gradient of the mean over the global batch. Zero the gradients in place
// before the next step; never replace them.
//
// The gradients lie in one buffer. It is divided into ranges, which are averaged in place, always
// in the order from the last parameter to the first. So every step, and a resumed run, sums in the
// same order.
//
// In a group of one, every call does nothing. Not thread-safe. Destroy before the group's last
// handle.

#include <cstdint>
#include <memory>
#include <vector>

#include "dist/group.h"

namespace shoal::dist {

struct ReducerOptions {  // affects only speed and, with 3 or more ranks, rounding
  // Larger ranges need fewer all-reduces; smaller ones overlap more with backward.
  int64_t range_bytes = 3 << 20;
};

class GradientReducer {
 public:
  // `parameters`: leaf tensors that require gradients, in layer order on every rank. Their .grad
  // must be defined and zero, and lie in one buffer on one device in the same order; the reducer
  // never replaces it. Every forward must use all parameters. Holds references to them until
  // destroyed.
  // Collective. Throws std::invalid_argument if a parameter is unsuitable or if shapes or dtypes
  // differ between ranks, std::runtime_error if a peer fails.
  GradientReducer(const Group& group, std::vector<at::Tensor> parameters,
                  const ReducerOptions& options = {});
  ~GradientReducer();
  GradientReducer(const GradientReducer&) = delete;
  GradientReducer& operator=(const GradientReducer&) = delete;

  // Call before the forward of a micro-batch. With `synchronize`, the next backward averages the
  // gradients.
  void prepare(bool synchronize);

  // The gradient of parameter `index` has its final value for this step. Autograd's accumulation
  // reports it by itself; backward passes that write .grad without autograd call this function.
  // Further calls for the parameter in the same step do nothing. Throws like finish() if an
  // all-reduce cannot start.
  void complete(size_t index);

  // Call right after the last backward of a step. Returns the seconds that this rank waited for the
  // network or slower ranks. About 0 with NCCL, where the host does not wait; 0 in a group of one.
  // Throws std::logic_error if that backward did not reach every parameter or if prepare(true) was
  // not called, and std::runtime_error that names the rank and the operation if a peer fails or the
  // group's timeout passes.
  double finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;  // null for a group of one
};

}  // namespace shoal::dist
