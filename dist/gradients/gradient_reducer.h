#pragma once
// Averages gradients over the ranks of a group, while backward is still computing.
//
// For each micro-batch m of the A micro-batches of a step:
//
//     reducer.prepare(m == A - 1);  // before forward; true only for the last micro-batch
//     loss = forward(...);
//     loss.backward();              // last micro-batch: averages gradients as they complete;
//                                   // others: gradients only accumulate on this rank
//
// Once per step, after the last backward:
//
//     reducer.finish();
//
// After finish(), every rank has the same gradients: the mean over ranks of the sum over
// micro-batches.
//
// Each rank scales its own loss. If all ranks have the same number of images and each loss is the
// mean over the micro-batch divided by A, the result is the gradient of the mean over the global
// batch. Zero the gradients in place before the next step; never replace them.
//
// All gradients are in one buffer, which is divided into ranges. The ranges are averaged in place,
// always from the last parameter to the first. So every step sums in the same order, also in a
// resumed run.
//
// In a group of one, every call does nothing. Not thread-safe. Destroy the reducer before the
// last Group object of its group.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "dist/group.h"

namespace shoal::dist {

struct ReducerOptions {
  // Larger ranges need fewer all-reduces; smaller ones overlap more with backward. Affects only
  // speed and, with 3 or more ranks, rounding. Unset: least_range_bytes() (gradient_ranges.h).
  std::optional<int64_t> range_bytes = {};
  bool bf16 = false;  // sends bfloat16 (bf16_average.h) instead of the gradients' dtype
};

class GradientReducer {
 public:
  // `parameters`: leaf tensors that require gradients, in layer order on every rank. Their .grad
  // must be defined and zero. All .grad must be views of one buffer on one device, in layer order;
  // the reducer never replaces them. Every forward must use all parameters. Holds references to
  // them until destroyed.
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

  // Reports that the gradient of parameter `index` has its final value for this step. The reducer
  // notices gradients that autograd accumulates; a backward that writes .grad without autograd must
  // call this function. Does nothing if the parameter was already reported in this step, or if the
  // current micro-batch is not the last (prepare(false)). With ReducerOptions::bf16, may wait for
  // the other ranks. Throws std::runtime_error if averaging cannot start, or if a peer fails or the
  // group's timeout passes during that wait.
  void complete(size_t index);

  // Call right after the last backward of a step. Returns the seconds that this rank waited for the
  // network or slower ranks, also during backward. About 0 with NCCL, where the host does not wait;
  // 0 in a group of one. Throws std::logic_error if that backward did not reach every parameter or
  // if prepare(true) was not called, and std::runtime_error that names the rank and the operation
  // if a peer fails or the group's timeout passes.
  double finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;  // null for a group of one
};

}  // namespace shoal::dist
