#pragma once
// One optimizer step as one pass over the flat buffers, with clipping and the decision whether to
// commit folded in.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "train/step/flat_parameters.h"
#include "train/step/optimizer_options.h"

namespace shoal::train {

// Writes the L2 norm of the flat gradients to `norm` (double, one element) and sets `non_finite`
// (int32, one element) to 1 when it is not finite; never back to 0. Both on the device of the
// parameters. Enqueues only.
void measure_gradients(const FlatParameters& parameters, const at::Tensor& norm,
                       const at::Tensor& non_finite);

class Optimizer {
 public:
  // `parameters` must outlive the optimizer.
  Optimizer(const OptimizerOptions& options, FlatParameters& parameters);
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // Updates parameters, state and low-precision copies from the flat gradients; with `non_finite`
  // not 0 nothing is written. `gradient_norm` (as measure_gradients wrote it) is used when clipping
  // is on and may be undefined otherwise; `non_finite` undefined: always commit. Enqueues only.
  // Gradients are left as they are.
  void step(double lr, const at::Tensor& gradient_norm = {}, const at::Tensor& non_finite = {});

  // Calls of step() so far; AdamW's bias correction depends on it. step() counts even when the
  // device decided not to write: set the number back by one for every step that was not committed.
  // Also what resuming restores.
  int64_t steps() const { return steps_; }
  void set_steps(int64_t steps) { steps_ = steps; }

  // The state in buffers of the parameters' layout; FlatParameters::contiguous_copy/load take them
  // by parameter name. sgd: "momentum" (none when momentum is 0); rmsprop: "mean_square",
  // "momentum"; adamw: "mean", "mean_square".
  struct State {
    std::string name;
    at::Tensor flat;
  };
  const std::vector<State>& state() const { return state_; }
  const OptimizerOptions& options() const { return options_; }

 private:
  OptimizerOptions options_;
  FlatParameters& parameters_;
  std::vector<State> state_;
  int64_t steps_ = 0;
};

}  // namespace shoal::train
