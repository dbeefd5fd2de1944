#pragma once
// The optimizer: one pass over the flat buffers, which also clips the gradients. Changes nothing if
// the gradients are not finite.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "train/job/optimizer_options.h"
#include "train/step/state/flat_parameters.h"

namespace shoal::train {

// Writes the L2 norm of the flat gradients to `norm` (double, one element). Sets `non_finite`
// (int32, one element) to 1 if the norm is not finite; never resets it. Both are on the parameters'
// device. Only enqueues work.
void measure_gradients(const FlatParameters& parameters, const at::Tensor& norm,
                       const at::Tensor& non_finite);

class Optimizer {
 public:
  // `parameters` must outlive the optimizer.
  Optimizer(const OptimizerOptions& options, FlatParameters& parameters);
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // Updates parameters, state and low-precision copies from the flat gradients, which stay
  // unchanged. Writes nothing if `non_finite` is not 0; undefined means 0. `gradient_norm` (from
  // measure_gradients) is required for clipping and may be undefined otherwise. Only enqueues work.
  void step(double lr, const at::Tensor& gradient_norm = {}, const at::Tensor& non_finite = {});

  // Number of committed steps, for Adam's bias correction. step() always adds 1, because the host
  // does not know yet whether the device commits. If the device does not, the caller must subtract
  // 1. Saved in checkpoints.
  int64_t steps() const { return steps_; }
  void set_steps(int64_t steps) { steps_ = steps; }

  // The optimizer's state: named buffers with the same layout as the parameters. Access them by
  // parameter name with FlatParameters::contiguous_copy() and load().
  struct State {
    std::string name;
    at::Tensor flat;
  };
  const std::vector<State>& state() const { return state_; }

 private:
  OptimizerOptions options_;
  FlatParameters& parameters_;
  std::vector<State> state_;
  int64_t steps_ = 0;
};

}  // namespace shoal::train
