#pragma once
// Averages gradients over the ranks of a group while backward still runs (c10d's Reducer: buckets,
// overlap).
//
// What the loop calls, for each micro-batch m of the A micro-batches of a step:
//
//     reducer.prepare(m == A - 1);  // before forward; true only for the last one
//     loss = forward(...);
//     loss.backward();              // after true: buckets are averaged as they fill;
//                                   // after false: gradients only accumulate on this rank
//   and once per step, after the last backward:
//     reducer.finish();
//
// From finish() on, every rank's gradients are equal: the mean over ranks of the sum over
// micro-batches.
//
// Each rank scales its own loss; with rank losses that are means over equally many images,
// divided by A, the result is the gradient of the mean over the global batch. Set gradients to zero
// in place before the next step; never replace them.
//
// The buckets do not depend on whether a step is the first: the constructor makes one throw-away
// reduction of zeros, after which the buckets follow layer order from the last to the first and
// stay. So a resumed run adds in the same order as one that never stopped, and the loop needs no
// warm-up step of its own.
//
// A group of one: every call does nothing. Not thread-safe; destroy before the group's last handle.

#include <cstdint>
#include <memory>
#include <vector>

#include "dist/group.h"

namespace shoal::dist {

struct ReducerOptions {  // both change only the speed (and, from 3 ranks on, the rounding)
  // Larger: fewer all-reduces; smaller: more overlap with backward.
  int64_t bucket_bytes = 25 * 1024 * 1024;
  int64_t first_bucket_bytes = 1024 * 1024;  // of the bucket that is ready first
};

class GradientReducer {
 public:
  // `parameters`: leaves that require a gradient, on one device, each used by every forward, in the
  // same (layer) order on every rank. Their .grad is defined and zero; it may be a view into a flat
  // buffer and stays that very memory. Communicates: every rank constructs at the same point. Keeps
  // the parameters (not copies) until destroyed. Throws std::invalid_argument when ranks have
  // different parameter shapes, std::runtime_error when a peer fails.
  GradientReducer(const Group& group, std::vector<at::Tensor> parameters,
                  const ReducerOptions& options = {});
  ~GradientReducer();
  GradientReducer(const GradientReducer&) = delete;
  GradientReducer& operator=(const GradientReducer&) = delete;

  // Before the forward of a micro-batch. With synchronise, the backward that follows reduces, and
  // throws std::runtime_error naming the rank and the operation when a peer fails or the group's
  // timeout passes.
  void prepare(bool synchronise);

  // After the last backward of a step. Throws std::logic_error when that backward did not reach
  // every parameter or prepare(true) was not called.
  void finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;  // null for a group of one
};

}  // namespace shoal::dist
