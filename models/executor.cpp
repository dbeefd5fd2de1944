#include "models/executor.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/hardswish.h>
#include <ATen/ops/hardtanh.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "base/process/trace.h"
#include "models/functions.h"
#include "models/masks.h"

namespace shoal::models {
namespace {

at::Tensor initial(const Parameter& parameter, at::Generator& generator) {
  const auto format =
      parameter.shape.size() == 4 ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous;
  at::Tensor values =
      at::empty(parameter.shape, at::TensorOptions(at::kFloat).memory_format(format));
  const double value = parameter.init.value;
  switch (parameter.init.kind) {
    case Init::Kind::normal:
      values.normal_(0, value, generator);
      break;
    case Init::Kind::uniform:
      values.uniform_(-value, value, generator);
      break;
    case Init::Kind::constant:
      values.fill_(value);
      break;
  }
  return values.requires_grad_();
}

at::Tensor activate(const at::Tensor& x, ops::Activation activation) {
  switch (activation) {
    case ops::Activation::none:
      return x;
    case ops::Activation::relu:
      return at::relu(x);
    case ops::Activation::relu6:
      return at::hardtanh(x, 0, 6);
    case ops::Activation::silu:
      return at::silu(x);
    case ops::Activation::hard_swish:
      return at::hardswish(x);
  }
  return x;
}

}  // namespace

Executor::Executor(Network network, uint64_t seed, Kernels kernels) : network_(std::move(network)) {
  if (kernels != Kernels::reference) {
    const std::string obstacle = fused_obstacle(network_);
    if (obstacle.empty()) fused_ = std::make_unique<FusedStep>(network_);
    if (!fused_ && kernels == Kernels::fused) throw std::invalid_argument(obstacle);
  }
  at::Generator generator = at::detail::createCPUGenerator(seed);
  for (const Parameter& parameter : network_.parameters)
    weights_.push_back(initial(parameter, generator));
  copies_.resize(weights_.size());
  for (const Statistics& layer : network_.statistics) {
    const int64_t channels = layer.channels;
    buffers_.push_back({at::zeros({channels}), at::ones({channels}), at::zeros({}, at::kLong),
                        at::zeros({2, channels})});
  }
  last_use_.resize(network_.nodes.size());
  for (size_t i = 0; i < network_.nodes.size(); ++i) {
    last_use_[i] = static_cast<int>(i);
    for (int input : network_.nodes[i].inputs) {
      if (input != kImages) last_use_[static_cast<size_t>(input)] = static_cast<int>(i);
    }
  }
}

std::vector<ParameterSlot> Executor::parameters() {
  std::vector<ParameterSlot> slots;
  for (size_t i = 0; i < weights_.size(); ++i) {
    const Parameter& p = network_.parameters[i];
    slots.push_back({p.name, &weights_[i], p.has_copy ? &copies_[i] : nullptr, p.traits});
  }
  return slots;
}

std::vector<BatchNormSlot> Executor::batch_norms() {
  std::vector<BatchNormSlot> slots;
  for (size_t i = 0; i < buffers_.size(); ++i) {
    Buffers& b = buffers_[i];
    const Statistics& layer = network_.statistics[i];
    slots.push_back({layer.name, &b.running_mean, &b.running_var, &b.batches_tracked, &b.pending,
                     &b.fixed, layer.stage});
  }
  return slots;
}

// Computes one node from its inputs.
struct Executor::Step {
  const Executor& self;
  const StepContext& context;
  const at::Tensor& x;
  const at::Tensor& residual;  // undefined if the node has no residual

  const at::Tensor& weight(int index) const { return self.weights_[static_cast<size_t>(index)]; }

  at::Tensor operator()(const Convolution& c) const {
    const auto index = static_cast<size_t>(c.weight);
    return convolution(x, self.weights_[index], self.copies_[index],
                       {.stride = c.stride,
                        .padding = (c.kernel - 1) / 2,
                        .groups = c.groups,
                        .same = c.padding == Padding::same});
  }

  at::Tensor operator()(const Norm& n) const {
    const Buffers& b = self.buffers_[static_cast<size_t>(n.statistics)];
    const BatchNormState state{weight(n.weight), weight(n.weight + 1),
                               b.running_mean,   b.running_var,
                               b.pending,        n.eps,
                               n.momentum,       static_cast<size_t>(n.weight)};
    const bool training = self.training_ && !b.fixed;
    const bool drops = self.training_ && n.drop > 0;
    if (!residual.defined() || !(drops || n.adds_last))
      return batch_norm_activation(x, residual, state, n.activation, training, context);
    const ops::Activation before = n.adds_last ? n.activation : ops::Activation::none;
    const ops::Activation after = n.adds_last ? ops::Activation::none : n.activation;
    const at::Tensor y = batch_norm_activation(x, {}, state, before, training, context);
    if (!drops) return activate(residual + y, after);
    const at::Tensor kept = row_mask(y, n.drop, n.mask_layer, context);
    return activate(add_scaled(residual, y, kept), after);
  }

  at::Tensor operator()(const SqueezeExcite& s) const {
    return squeeze_excite(
        x, {weight(s.weight), weight(s.weight + 1), weight(s.weight + 2), weight(s.weight + 3)},
        s.hard);
  }

  at::Tensor operator()(const MaxPool& p) const {
    return at::max_pool2d(x, {p.kernel, p.kernel}, {p.stride, p.stride}, {p.padding, p.padding});
  }

  at::Tensor operator()(const PooledFeatures& p) const {
    return dropped(at::mean(x, {2, 3}, /*keepdim=*/false, statistics_dtype(x)), p.dropout,
                   p.mask_layer);
  }

  at::Tensor operator()(const Linear& l) const {
    const at::Tensor y = at::addmm(weight(l.weight + 1), x, weight(l.weight).t());
    return dropped(activate(y, l.activation), l.dropout, l.mask_layer);
  }

  at::Tensor dropped(const at::Tensor& y, double dropout, uint64_t mask_layer) const {
    const double rate = dropout_rate(dropout, context);
    if (!self.training_ || rate <= 0) return y;
    return y * element_mask(y, rate, mask_layer, context);
  }
};

// Whether FusedStep computes this forward pass. FusedStep supports training only with autograd
// enabled, and evaluation only with autograd disabled.
bool Executor::fuses(const at::Tensor& images, const StepContext& context) const {
  const bool type = images.scalar_type() == at::kFloat || images.scalar_type() == at::kBFloat16;
  return fused_ && training_ == at::GradMode::is_enabled() && !context.sum_across_ranks &&
         images.is_cpu() && type && weights_[0].scalar_type() == at::kFloat && images.size(0) > 0;
}

at::Tensor Executor::forward(const at::Tensor& images, const StepContext& context) {
  if (fuses(images, context)) {
    std::vector<ProgramStatistics> statistics;
    for (const Buffers& b : buffers_)
      statistics.push_back({b.running_mean.const_data_ptr<float>(),
                            b.running_var.const_data_ptr<float>(),
                            b.pending.mutable_data_ptr<float>(), b.fixed});
    return training_ ? fused_->forward(images, weights_, std::move(statistics), context)
                     : fused_->evaluate(images, weights_, std::move(statistics));
  }
  const at::Tensor none;
  std::vector<at::Tensor> outputs(network_.nodes.size());
  const auto output = [&](int node) -> const at::Tensor& {
    return node == kImages ? images : outputs[static_cast<size_t>(node)];
  };
  for (size_t i = 0; i < network_.nodes.size(); ++i) {
    const Node& node = network_.nodes[i];
    const trace::Scope scope("forward", node.name);
    const at::Tensor& residual = node.inputs.size() > 1 ? output(node.inputs[1]) : none;
    outputs[i] = std::visit(Step{*this, context, output(node.inputs[0]), residual}, node.operation);
    for (int input : node.inputs) {  // frees outputs that no later node reads
      if (input != kImages && last_use_[static_cast<size_t>(input)] == static_cast<int>(i))
        outputs[static_cast<size_t>(input)].reset();
    }
  }
  return outputs.back();
}

}  // namespace shoal::models
