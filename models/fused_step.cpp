#include "models/fused_step.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/custom_function.h>

#include <stdexcept>
#include <utility>

#include "models/functions_internal.h"
#include "models/masks.h"

namespace shoal::models {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

namespace {

constexpr int64_t kAlignment = ops::fused::kPadding;  // floats

float* aligned(float* p) {
  return reinterpret_cast<float*>((reinterpret_cast<uintptr_t>(p) + 63) / 64 * 64);
}

}  // namespace

struct FusedStep::Function : torch::autograd::Function<FusedStep::Function> {
  static at::Tensor forward(AutogradContext* ctx, FusedStep* step, const at::Tensor& images,
                            ProgramInputs* inputs, at::TensorList weights) {
    at::Tensor logits = step->run(*step->program_, images, weights, *inputs);
    variable_list saved(weights.begin(), weights.end());
    saved.push_back(images);
    ctx->save_for_backward(std::move(saved));
    ctx->saved_data["step"] = encapsulate(std::make_pair(step, step->runs_));
    return logits;
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
    const auto& [step, number] =
        decapsulate<std::pair<FusedStep*, uint64_t>>(ctx->saved_data["step"]);
    if (number != step->runs_)
      throw std::logic_error(
          "backward() of a step after a later forward() or evaluate() overwrote its activations");
    const variable_list weights = ctx->get_saved_variables();
    const at::Tensor d_logits = gradients[0].contiguous();
    return step->differentiate(d_logits.const_data_ptr<float>(), weights);
  }
};

// Returns the gradients of the inputs of Function::forward. If StepContext::gradient_complete is
// set, writes the gradients of the weights into .grad instead and returns undefined tensors for
// them.
variable_list FusedStep::differentiate(const float* d_logits, const variable_list& weights) {
  const std::vector<bool>& trained = program_->shape().trained;
  const bool in_place = static_cast<bool>(complete_);
  const bool direct = in_place && gradients_are_zero_;
  int64_t floats = kAlignment;
  for (size_t i = 0; i < trained.size() && !direct; ++i)
    if (trained[i]) floats += ops::fused::padded(weights[i].numel());
  const at::Tensor all = at::empty({floats}, at::kFloat);
  float* const memory = all.mutable_data_ptr<float>();
  float* next = aligned(memory);
  std::vector<float*> places(trained.size(), nullptr);
  variable_list computed(trained.size());
  for (size_t i = 0; i < trained.size(); ++i) {
    if (!trained[i]) continue;
    const at::Tensor& weight = weights[i];
    if (direct) {
      places[i] = weight.grad().mutable_data_ptr<float>();
      continue;
    }
    computed[i] = all.as_strided(weight.sizes(), weight.strides(), next - memory);
    places[i] = std::exchange(next, next + ops::fused::padded(weight.numel()));
  }
  program_->backward(d_logits, places, [&](size_t i) {
    if (!in_place) return;
    if (!direct) weights[i].grad().add_(std::exchange(computed[i], {}));
    complete_(i);
  });
  variable_list result(3);  // no gradients for step, images and inputs
  result.insert(result.end(), computed.begin(), computed.end());
  return result;
}

at::Tensor FusedStep::run(Program& program, const at::Tensor& images, at::TensorList weights,
                          ProgramInputs& inputs) {
  const int64_t floats = program.floats() + kAlignment;
  if (!memory_.defined() || memory_.numel() < floats) {
    memory_.reset();  // frees the old memory before more is allocated
    memory_ = at::empty({floats}, at::kFloat);
  }
  program.use(aligned(memory_.mutable_data_ptr<float>()));
  inputs.images = images.const_data_ptr();
  for (const at::Tensor& weight : weights) inputs.weights.push_back(weight.const_data_ptr<float>());
  at::Tensor logits = at::empty({images.size(0), network_.info.classes}, at::kFloat);
  program.forward(inputs, logits.mutable_data_ptr<float>());
  return logits;
}

void FusedStep::prepare(std::unique_ptr<Program>& program, const at::Tensor& images,
                        std::vector<bool> trained) {
  const auto storage =
      images.scalar_type() == at::kBFloat16 ? ops::fused::Storage::bf16 : ops::fused::Storage::f32;
  StepShape shape{images.size(0), images.size(2), images.size(3), std::move(trained), storage};
  const int threads = at::get_num_threads();
  if (program && program->shape() == shape && program->threads() == threads) return;
  program = std::make_unique<Program>(network_, std::move(shape), threads);
}

void FusedStep::draw_masks(const at::Tensor& images, const StepContext& context,
                           ProgramInputs& inputs) {
  masks_.clear();
  inputs.masks.assign(network_.nodes.size(), nullptr);
  const int64_t count = images.size(0);
  for (size_t i = 0; i < network_.nodes.size(); ++i) {
    const Node& node = network_.nodes[i];
    const auto* norm = std::get_if<Norm>(&node.operation);
    const auto* pooled = std::get_if<PooledFeatures>(&node.operation);
    const auto* linear = std::get_if<Linear>(&node.operation);
    const double dropout = dropout_rate(pooled   ? pooled->dropout
                                        : linear ? linear->dropout
                                                 : 0,
                                        context);
    if (norm && norm->drop > 0 && node.inputs.size() > 1) {
      masks_.push_back(
          row_mask(at::empty({count}, at::kFloat), norm->drop, norm->mask_layer, context));
    } else if (dropout > 0) {
      masks_.push_back(element_mask(at::empty({count, node.out.channels}, at::kFloat), dropout,
                                    pooled ? pooled->mask_layer : linear->mask_layer, context));
    } else {
      continue;
    }
    inputs.masks[i] = masks_.back().const_data_ptr<float>();
  }
}

at::Tensor FusedStep::forward(const at::Tensor& images_any, const std::vector<at::Tensor>& weights,
                              std::vector<ProgramStatistics> statistics,
                              const StepContext& context) {
  ++runs_;
  const at::Tensor images = channels_last(images_any);
  std::vector<bool> trained;
  for (const at::Tensor& weight : weights) trained.push_back(weight.requires_grad());
  prepare(program_, images, std::move(trained));
  ProgramInputs inputs;
  inputs.statistics = std::move(statistics);
  draw_masks(images, context, inputs);
  complete_ = context.gradient_complete;
  gradients_are_zero_ = context.gradients_are_zero;
  return Function::apply(this, images, &inputs, at::TensorList(weights));
}

at::Tensor FusedStep::evaluate(const at::Tensor& images_any, const std::vector<at::Tensor>& weights,
                               std::vector<ProgramStatistics> statistics) {
  ++runs_;
  const at::Tensor images = channels_last(images_any);
  prepare(evaluation_, images, std::vector<bool>(weights.size(), false));
  ProgramInputs inputs;
  inputs.statistics = std::move(statistics);
  for (ProgramStatistics& layer : inputs.statistics) layer.fixed = true;
  inputs.masks.assign(network_.nodes.size(), nullptr);
  return run(*evaluation_, images, weights, inputs);
}

}  // namespace shoal::models
