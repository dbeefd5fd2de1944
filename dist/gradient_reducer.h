#pragma once
// Averages gradients over the ranks of a group. Uses c10d's Reducer, which averages the gradients
// in buckets while backward is still running.
//
// For each micro-batch m of the A micro-batches of a step:
//
//     reducer.prepare(m == A - 1);  // before forward; true only for the last micro-batch
//     loss = forward(...);
//     loss.backward();              // after true: buckets are averaged as they fill;
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
// The buckets are the same in every step. The constructor fixes them, in layer order from last to
// first, by averaging gradients that are zero. So a resumed run sums gradients in the same order as
// an uninterrupted one, and the training loop needs no warm-up step.
//
// In a group of one, every call does nothing. Not thread-safe. Destroy before the group's last
// handle.

#include <cstdint>
#include <memory>
#include <vector>

#include "dist/group.h"

namespace shoal::dist {

struct ReducerOptions {  // affects only speed and, with 3 or more ranks, rounding
  // Larger values mean fewer all-reduces; smaller values more overlap with backward.
  int64_t bucket_bytes = 25 * 1024 * 1024;
  int64_t first_bucket_bytes = 1024 * 1024;  // size of the bucket that completes first
};

class GradientReducer {
 public:
  // `parameters`: leaf tensors that require gradients, on one device, in layer order on every rank.
  // Every forward must use all of them. Their .grad must be defined and zero; it may be a view into
  // a flat buffer, and the reducer never replaces it. Holds references to the parameters until
  // destroyed.
  // Collective. Throws std::invalid_argument if a parameter is unsuitable or if shapes or dtypes
  // differ between ranks, std::runtime_error if a peer fails.
  GradientReducer(const Group& group, std::vector<at::Tensor> parameters,
                  const ReducerOptions& options = {});
  ~GradientReducer();
  GradientReducer(const GradientReducer&) = delete;
  GradientReducer& operator=(const GradientReducer&) = delete;

  // Call before the forward of a micro-batch. With `synchronize`, the next backward averages the
  // gradients. That backward throws std::runtime_error that names the rank and the operation if a
  // peer fails or the group's timeout passes.
  void prepare(bool synchronize);

  // Call right after the last backward of a step. Returns the seconds that this backward lasted
  // after its last bucket was complete: a wait for the network or slower ranks (with NCCL, which
  // computes on the device, about 0). Throws std::logic_error if that backward did not reach
  // every parameter or if prepare(true) was not called.
  double finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;  // null for a group of one
};

}  // namespace shoal::dist
