// Saves and loads the training state and weights. trainer.cpp has the training step.
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <stdexcept>
#include <unordered_map>

#include "train/step/trainer.h"
#include "train/weights/preprocessing.h"

namespace shoal::train {
namespace {

// CheckpointData::integers has an entry for each parameter whose ops::Segment::first_step is not 0.
// The entry's key is this prefix and the parameter's name.
constexpr char kFirstStep[] = "first_step ";

// Copies the tensors of `flat` (FlatParameters or FlatStatistics) to `to`, from entry `next` on,
// and returns the index after the last one. Overwrites entries that `to` already has. If `buffer`
// is defined, copies the values from this buffer of the same layout.
template <class Flat>
size_t save_each(const Flat& flat, NamedTensors& to, size_t next = 0,
                 const at::Tensor& buffer = {}) {
  const size_t end = next + flat.names().size();
  if (to.size() < end) to.resize(end);
  for (size_t i = 0; i < flat.names().size(); ++i, ++next) {
    to[next].first = flat.names()[i];
    copy_to_cpu(flat.view(i, buffer), to[next].second);
  }
  return end;
}

// Loads the tensors of `flat` (FlatParameters or FlatStatistics) from `from`. If `buffer` is
// defined, loads them into this buffer of the same layout. Throws std::runtime_error if `from`
// lacks a tensor; `what` names `from` in the message.
template <class Flat>
void load_each(Flat& flat, const std::unordered_map<std::string, at::Tensor>& from,
               const std::string& what, const at::Tensor& buffer = {}) {
  for (const auto& name : flat.names()) {
    const auto it = from.find(name);
    if (it == from.end())
      throw std::runtime_error("the checkpoint's " + what + " has no tensor '" + name + "'");
    flat.load(name, it->second, buffer);
  }
}

std::unordered_map<std::string, at::Tensor> by_name(const NamedTensors& tensors) {
  return {tensors.begin(), tensors.end()};
}

}  // namespace

int64_t Trainer::state_bytes() const {
  const auto copies = static_cast<int64_t>(1 + optimizer_->state().size() + (ema_ ? 1 : 0));
  return copies * static_cast<int64_t>(parameters_->flat().nbytes()) +
         (ema_ ? 2 : 1) * static_cast<int64_t>(statistics_->running().nbytes());
}

void Trainer::save_tensors(CheckpointData& data) const {
  // Saves all parameters, then all buffers. torchvision's state dict has another order, which does
  // not matter, because tensors are looked up by name.
  at::NoGradGuard no_grad;
  save_each(*statistics_, data.model, save_each(*parameters_, data.model));
  if (ema_)
    save_each(*statistics_, data.ema, save_each(*parameters_, data.ema, 0, ema_->parameters()),
              ema_->running());
  data.optimizer.resize(optimizer_->state().size());
  for (size_t i = 0; i < data.optimizer.size(); ++i) {
    const Optimizer::State& state = optimizer_->state()[i];
    data.optimizer[i].first = state.name;
    save_each(*parameters_, data.optimizer[i].second, 0, state.flat);
  }
}

void Trainer::save_counts(CheckpointData& data) const {
  data.integers["optimizer_steps"] = optimizer_->steps();
  for (size_t i = 0; i < parameters_->names().size(); ++i)
    if (const int64_t step = parameters_->segments()[i].first_step; step != 0)
      data.integers[kFirstStep + parameters_->names()[i]] = step;
}

// Restores Segment::first_step. Older checkpoints have one number for all frozen parameters.
void Trainer::load_first_steps(const CheckpointData& data) {
  const auto unfrozen = data.integers.find("unfrozen_step");
  for (size_t i = 0; i < parameters_->names().size(); ++i) {
    const auto saved = data.integers.find(kFirstStep + parameters_->names()[i]);
    int64_t step = saved == data.integers.end() ? 0 : saved->second;
    if (unfrozen != data.integers.end() && parameters_->traits()[i].stage < job_.frozen_stages)
      step = unfrozen->second;
    parameters_->set_first_step(i, step);
  }
}

void Trainer::swap_ema() {
  before_change_();
  ema_->swap();
}

void Trainer::load(const CheckpointData& data, bool weights_only) {
  at::NoGradGuard no_grad;
  before_change_();
  const auto model = by_name(data.model);
  load_each(*parameters_, model, "model");
  load_each(*statistics_, model, "model");
  if (ema_ && data.ema.empty())
    throw UserError("the checkpoint has no averaged weights; resume without --ema");
  if (ema_) {
    const auto ema = by_name(data.ema);
    load_each(*parameters_, ema, "ema", ema_->parameters());
    load_each(*statistics_, ema, "ema", ema_->running());
  }
  parameters_->refresh_copies();
  if (weights_only) return;
  for (const auto& state : optimizer_->state()) {
    const auto it = std::find_if(data.optimizer.begin(), data.optimizer.end(),
                                 [&](const auto& entry) { return entry.first == state.name; });
    if (it == data.optimizer.end()) {
      throw UserError("the checkpoint has no optimizer state '" + state.name +
                      "'; resume with the --optimizer that it was made with");
    }
    load_each(*parameters_, by_name(it->second), "optimizer state", state.flat);
  }
  optimizer_->set_steps(data.integer("optimizer_steps"));
  load_first_steps(data);
  freeze(job_.frozen_stages);
}

void load_weights(models::Classifier& model, const CheckpointData& data, bool ema) {
  FlatParameters parameters(model, {});
  FlatStatistics statistics(model, at::kFloat, at::kCPU);
  at::NoGradGuard no_grad;
  NamedTensors tensors = ema && !data.ema.empty() ? data.ema : data.model;
  fit_channels(tensors, parameters.names().front(), model.info().channels);
  const auto weights = by_name(tensors);
  load_each(parameters, weights, "model");
  load_each(statistics, weights, "model");
  model.train(false);
}

NamedTensors weights_of(models::Classifier& model) {
  at::NoGradGuard no_grad;
  NamedTensors weights;
  const size_t next = save_each(FlatParameters(model, {}), weights);
  save_each(FlatStatistics(model, at::kFloat, at::kCPU), weights, next);
  return weights;
}

}  // namespace shoal::train
