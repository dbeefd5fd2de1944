#include "train/step/optimizer.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros_like.h>

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
  const at::Tensor& flat = parameters.flat();
  switch (options.kind) {
    case OptimizerOptions::Kind::sgd:
      if (options.momentum != 0) state_.push_back({"momentum", at::zeros_like(flat)});
      break;
    case OptimizerOptions::Kind::rmsprop:
      state_.push_back({"mean_square", at::ones_like(flat)});
      if (options.momentum != 0) state_.push_back({"momentum", at::zeros_like(flat)});
      break;
    case OptimizerOptions::Kind::adamw:
      state_.push_back({"mean", at::zeros_like(flat)});
      state_.push_back({"mean_square", at::zeros_like(flat)});
      break;
  }
}

void Optimizer::step(double lr, const at::Tensor& gradient_norm, const at::Tensor& non_finite) {
  ++steps_;
  ops::OptimizerStep step{};
  step.segments = parameters_.device_segments();
  step.segment_count = parameters_.device_segment_count();
  step.total = parameters_.total();
  step.type = parameters_.type();
  step.parameters = parameters_.flat().mutable_data_ptr();
  step.gradients = parameters_.gradients().const_data_ptr();
  if (parameters_.copies().defined()) {
    step.copy = parameters_.copies().mutable_data_ptr();
    step.copy_type =
        parameters_.copies().scalar_type() == at::kHalf ? ops::Type::f16 : ops::Type::bf16;
  }
  if (!state_.empty()) step.state1 = state_[0].flat.mutable_data_ptr();
  if (state_.size() > 1) step.state2 = state_[1].flat.mutable_data_ptr();
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

  const ops::Table& table = parameters_.table();
  switch (options_.kind) {
    case OptimizerOptions::Kind::sgd:
      return table.sgd(step, parameters_.stream());
    case OptimizerOptions::Kind::rmsprop:
      return table.rmsprop_tf(step, parameters_.stream());
    case OptimizerOptions::Kind::adamw:
      return table.adamw(step, parameters_.stream());
  }
}

}  // namespace shoal::train
