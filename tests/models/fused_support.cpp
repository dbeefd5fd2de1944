#include "tests/models/fused_support.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>

#include "models/catalogue.h"
#include "models/functions.h"

namespace shoal::models {
namespace {

void to_double(Classifier& model) {
  for (const ParameterSlot& slot : model.parameters())
    slot.master->set_data(slot.master->detach().to(at::kDouble));
  for (const BatchNormSlot& slot : model.batch_norms())
    for (at::Tensor* t : {slot.running_mean, slot.running_var, slot.pending})
      *t = t->to(at::kDouble);
}

}  // namespace

void fill(Classifier& model) {
  const at::NoGradGuard no_grad;
  at::Generator generator = at::detail::createCPUGenerator(7);
  for (const ParameterSlot& slot : model.parameters()) {
    if (slot.traits.norm && slot.name.ends_with("weight"))
      slot.master->uniform_(0.5, 1.5, generator);
    else if (!slot.traits.decays)
      slot.master->normal_(0, 0.3, generator);
  }
  for (const BatchNormSlot& slot : model.batch_norms()) {
    slot.running_mean->normal_(0, 0.2, generator);
    slot.running_var->uniform_(0.5, 2, generator);
    slot.pending->normal_(0, 1, generator);
  }
}

Result compute(const Network& network, const Case& c, Kernels kernels, at::ScalarType type) {
  Executor model(network, 1, kernels);
  fill(model);
  if (type == at::kDouble) to_double(model);
  for (const ParameterSlot& slot : model.parameters())
    if (slot.copy && type == at::kBFloat16) *slot.copy = slot.master->detach().to(type);
  for (const ParameterSlot& slot : model.parameters())
    slot.master->set_requires_grad(slot.traits.stage >= c.frozen_stages &&
                                   !(c.freeze_norms && slot.traits.norm) &&
                                   slot.name.starts_with(c.only));
  for (const BatchNormSlot& slot : model.batch_norms())
    *slot.fixed = c.freeze_norms || slot.stage < c.frozen_stages;
  model.train(true);
  if (c.in_place)
    for (const ParameterSlot& slot : model.parameters())
      if (slot.master->requires_grad()) slot.master->mutable_grad() = at::zeros_like(*slot.master);
  Result result;
  std::vector<uint64_t> keys(static_cast<size_t>(c.batch));
  at::Generator generator = at::detail::createCPUGenerator(3);
  for (int64_t m = 0; m < c.micro_batches; ++m) {
    const at::Tensor images =
        at::randn({c.batch, network.info.channels, c.size, c.size + m}, generator)
            .contiguous(at::MemoryFormat::ChannelsLast)
            .to(type);
    std::iota(keys.begin(), keys.end(), 1000 * m);
    StepContext context;
    context.keys = keys.data();
    context.seed = 5;
    std::vector<int> completed(network.parameters.size(), 0);
    if (c.in_place) context.gradient_complete = [&completed](size_t i) { ++completed.at(i); };
    context.gradients_are_zero = m == 0;
    result.logits = model.forward(images, context);
    const at::Tensor labels = at::arange(c.batch, at::kInt).remainder(network.info.classes);
    cross_entropy(result.logits, {labels, {}, {}}, 0.1, 1.0).loss.backward();
    const std::vector<ParameterSlot> slots = model.parameters();
    for (size_t i = 0; c.in_place && i < slots.size(); ++i) {
      const bool complete = kernels == Kernels::fused || slots[i].traits.norm;
      REQUIRE(completed[i] == (complete && slots[i].master->requires_grad() ? 1 : 0));
    }
  }
  for (const ParameterSlot& slot : model.parameters()) {
    result.names.push_back(slot.name);
    result.gradients.push_back(slot.master->requires_grad() ? slot.master->grad() : at::Tensor());
  }
  for (const BatchNormSlot& slot : model.batch_norms()) result.pending.push_back(*slot.pending);
  return result;
}

double apart(const at::Tensor& got, const at::Tensor& want, double scale) {
  const at::Tensor exact = want.to(at::kDouble);
  const double size = std::max(exact.norm().item<double>(), scale);
  return ((got.to(at::kDouble) - exact).norm() / size).item<double>();
}

Difference difference(const Result& got, const Result& want) {
  Difference d;
  d.logits = apart(got.logits, want.logits, 1e-3);
  double largest = 0;
  for (const at::Tensor& g : want.gradients)
    if (g.defined()) largest = std::max(largest, g.norm().item<double>());
  for (size_t i = 0; i < want.gradients.size(); ++i) {
    REQUIRE(got.gradients[i].defined() == want.gradients[i].defined());
    if (!want.gradients[i].defined()) continue;
    REQUIRE(got.gradients[i].sizes() == want.gradients[i].sizes());
    const double apart_by = apart(got.gradients[i], want.gradients[i], 1e-3 * largest);
    if (!(apart_by <= d.gradients)) d.worst = got.names[i];
    d.gradients = std::isnan(apart_by) ? INFINITY : std::max(d.gradients, apart_by);
  }
  for (size_t i = 0; i < want.pending.size(); ++i) {
    const double apart_by = apart(got.pending[i], want.pending[i], 1e-3);
    d.pending = std::isnan(apart_by) ? INFINITY : std::max(d.pending, apart_by);
  }
  return d;
}

Network with_classifier(NetworkBuilder& builder, int x, const std::string& name) {
  builder.begin_stage("classifier");
  builder.linear("classifier", builder.pooled_features(x, 0.3), 6, LinearInit::by_inputs);
  ModelInfo info;
  info.name = name;
  return builder.finish(info);
}

Network named(const std::string& name, double dropped) {
  ModelOptions options;
  options.name = name;
  options.classes = 10;
  options.dropout = options.drop_path = dropped;
  return make_network(options);
}

void check_equal(const Network& network, const Case& c) {
  const Result exact = compute(network, c, Kernels::reference, at::kDouble);
  const Difference reference =
      difference(compute(network, c, Kernels::reference, at::kFloat), exact);
  const Difference fused = difference(compute(network, c, Kernels::fused, at::kFloat), exact);
  CAPTURE(network.info.name, c.batch, c.size, c.frozen_stages, fused.worst, reference.gradients,
          reference.worst);
  CHECK(fused.logits < 10 * reference.logits + 1e-6);
  CHECK(fused.gradients < 10 * reference.gradients + 1e-6);
  CHECK(fused.pending < 10 * reference.pending + 1e-6);
}

void check_bf16(const Network& network, const Case& c) {
  const Result exact = compute(network, c, Kernels::reference, at::kDouble);
  const Difference reference =
      difference(compute(network, c, Kernels::reference, at::kBFloat16), exact);
  const Difference fused = difference(compute(network, c, Kernels::fused, at::kBFloat16), exact);
  CAPTURE(network.info.name, c.batch, c.size, fused.worst, reference.worst);
  CHECK(fused.logits < 1.5 * reference.logits);
  CHECK(fused.gradients < 1.5 * reference.gradients);
  CHECK(fused.pending < 1.5 * reference.pending);
}

}  // namespace shoal::models
