#include "train/step/state/optimizer.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/full_like.h>

namespace shoal::train {

void measure_gradients(const FlatParameters& parameters, const at::Tensor& norm,
                       const at::Tensor& non_finite) {
  parameters.table().gradient_norm(parameters.type(), parameters.gradients().const_data_ptr(),
                                   parameters.total(), norm.mutable_data_ptr<double>(),
                                   non_finite.mutable_data_ptr<int32_t>(), parameters.stream());
}

Optimizer::Optimizer(const OptimizerOptions& options, FlatParameters& parameters)
    : options_(options), parameters_(parameters) {
  at::NoGradGuard no_grad;
  for (int i = 0; i < state_buffers(options); ++i) {
    const ops::OptimizerState& state = ops::info_of(options.kind).states[i];
    state_.push_back({state.name, at::full_like(parameters.flat(), state.initial)});
  }
}

void Optimizer::step(double lr, const at::Tensor& gradient_norm, const at::Tensor& non_finite) {
  ++steps_;
  ops::OptimizerStep step{};
  step.kind = options_.kind;
  step.segments = parameters_.device_segments();
  step.segment_count = parameters_.device_segment_count();
  step.total = parameters_.total();
  step.type = parameters_.type();
  step.parameters = parameters_.flat().mutable_data_ptr();
  step.gradients = parameters_.gradients().const_data_ptr();
  if (parameters_.copies().defined()) step.copy = parameters_.copies().mutable_data_ptr();
  for (size_t i = 0; i < state_.size(); ++i) step.state[i] = state_[i].flat.mutable_data_ptr();
  if (options_.clip > 0) step.gradient_norm = gradient_norm.const_data_ptr<double>();
  step.clip = options_.clip;
  if (non_finite.defined()) step.non_finite = non_finite.const_data_ptr<int32_t>();
  step.lr = lr;
  step.step = steps_;
  step.momentum = options_.momentum;
  step.nesterov = options_.nesterov;
  step.alpha = options_.alpha;
  step.beta1 = options_.beta1;
  step.beta2 = options_.beta2;
  step.eps = resolved_eps(options_);
  parameters_.table().optimize(step, parameters_.stream());
}

}  // namespace shoal::train
