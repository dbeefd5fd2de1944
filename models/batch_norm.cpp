// Batch norm, residual addition and activation as one autograd function that calls the operations
// in ops/. Saves the inputs and the per-channel statistics. Backward recomputes the normalized
// values and the slope of the activation, which costs less than reading them from memory.
//
// Synchronized batch norm sums two small double tensors over the ranks: {Σx, Σx², rows} in forward
// and {Σdz, Σdz·xhat} in backward. The gradients of weight and bias are sums over this rank only.

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/rsqrt.h>
#include <torch/csrc/autograd/custom_function.h>

#include "models/functions.h"
#include "models/functions_internal.h"

namespace shoal::models {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

// Where backward writes the gradients of weight and bias if StepContext::gradient_complete is set.
struct InPlace {
  at::Tensor weight, bias;  // their .grad
  bool add;                 // whether .grad has values to add to
  size_t index;             // of the weight; the bias is the next parameter
  std::function<void(size_t)> complete;
};

struct Settings {
  ops::Activation activation;
  bool training;
  double eps, momentum;
  at::Tensor running_mean, running_var, pending;
  std::function<void(at::Tensor&)> sum_across_ranks;
  std::optional<InPlace> in_place;
};

struct Saved {
  ops::Activation activation;
  bool has_residual;
  std::function<void(at::Tensor&)> sum_across_ranks;
  std::optional<InPlace> in_place;
};

ops::BatchNorm operation(ops::Activation activation, const at::Tensor& x,
                         const at::Tensor& residual, const at::Tensor& mean,
                         const at::Tensor& inv_std, const at::Tensor& weight,
                         const at::Tensor& bias) {
  return {.type = type_of(x),
          .activation = activation,
          .rows = x.numel() / x.size(1),
          .channels = x.size(1),
          .x = x.const_data_ptr(),
          .residual = residual.defined() ? residual.const_data_ptr() : nullptr,
          .mean = mean.const_data_ptr(),
          .inv_std = inv_std.const_data_ptr(),
          .weight = weight.const_data_ptr(),
          .bias = bias.const_data_ptr()};
}

struct BatchNormActivation : Function<BatchNormActivation> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x_any, const at::Tensor& weight,
                            const at::Tensor& bias, const std::optional<at::Tensor>& residual_any,
                            const Settings& settings) {
    const at::Tensor x = channels_last(x_any);
    const at::Tensor residual = residual_any ? channels_last(*residual_any) : at::Tensor();
    const ops::Table& table = operations(x.device());
    void* const stream = stream_of(x.device());
    const int64_t channels = x.size(1);
    Saved saved{settings.activation, residual.defined(), settings.sum_across_ranks,
                settings.in_place};
    at::Tensor mean = settings.running_mean, inv_std;
    at::Tensor count;  // rows in the statistics, of all ranks if synchronized; undefined: constants
    if (settings.training) {
      const auto options = x.options().memory_format(c10::nullopt).dtype(statistics_dtype(x));
      at::Tensor sums = at::empty({2 * channels + 1}, options.dtype(at::kDouble));
      mean = at::empty({channels}, options);
      inv_std = at::empty({channels}, options);
      const ops::BatchNormFinish finish{.type = type_of(x),
                                        .channels = channels,
                                        .sums = sums.mutable_data_ptr<double>(),
                                        .eps = settings.eps,
                                        .momentum = settings.momentum,
                                        .mean = mean.mutable_data_ptr(),
                                        .inv_std = inv_std.mutable_data_ptr(),
                                        .pending = settings.pending.mutable_data_ptr()};
      const bool alone = !settings.sum_across_ranks;
      table.batch_norm_sums(type_of(x), x.const_data_ptr(), x.numel() / channels, channels,
                            sums.mutable_data_ptr<double>(), alone ? &finish : nullptr, stream);
      if (!alone) {
        settings.sum_across_ranks(sums);
        table.batch_norm_finish(finish, stream);
      }
      count = sums.slice(0, 2 * channels);
    } else {
      inv_std = at::rsqrt(settings.running_var + settings.eps);
    }
    at::Tensor y = at::empty_like(x);
    table.batch_norm_apply(operation(saved.activation, x, residual, mean, inv_std, weight, bias),
                           y.mutable_data_ptr(), stream);
    // Without an activation, backward does not read the residual.
    const at::Tensor kept_residual =
        saved.activation == ops::Activation::none ? at::Tensor() : residual;
    ctx->save_for_backward({x, kept_residual, mean, inv_std, weight, bias, count});
    ctx->saved_data["saved"] = encapsulate(saved);
    return y;
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
    const variable_list v = ctx->get_saved_variables();
    const at::Tensor &x = v[0], &weight = v[4], &count = v[6];
    const auto& saved = decapsulate<Saved>(ctx->saved_data["saved"]);
    const ops::Table& table = operations(x.device());
    void* const stream = stream_of(x.device());
    const int64_t channels = x.size(1);
    const at::Tensor dy = channels_last(gradients[0]);
    const ops::BatchNorm op = operation(saved.activation, x, v[1], v[2], v[3], weight, v[5]);

    at::Tensor sums = at::empty({2 * channels}, weight.options().dtype(at::kDouble));
    const bool in_place = saved.in_place.has_value();
    at::Tensor d_weight =
        in_place ? saved.in_place->weight : at::empty({channels}, weight.options());
    at::Tensor d_bias = in_place ? saved.in_place->bias : at::empty({channels}, weight.options());
    table.batch_norm_backward_sums(op, dy.const_data_ptr(), sums.mutable_data_ptr<double>(),
                                   {.weight = d_weight.mutable_data_ptr(),
                                    .bias = d_bias.mutable_data_ptr(),
                                    .add = in_place && saved.in_place->add},
                                   stream);
    if (count.defined() && saved.sum_across_ranks) saved.sum_across_ranks(sums);
    if (in_place) {
      for (size_t i : {0, 1}) saved.in_place->complete(saved.in_place->index + i);
      d_weight.reset();
      d_bias.reset();
    }

    at::Tensor dx, d_residual;
    const bool wants_residual = saved.has_residual && ctx->needs_input_grad(3);
    if (wants_residual)
      d_residual = op.activation == ops::Activation::none ? dy : at::empty_like(x);
    dx = at::empty_like(x);
    void* residual_out =
        wants_residual && !d_residual.is_same(dy) ? d_residual.mutable_data_ptr() : nullptr;
    table.batch_norm_backward_apply(op, dy.const_data_ptr(), sums.const_data_ptr<double>(),
                                    count.defined() ? count.const_data_ptr<double>() : nullptr,
                                    dx.mutable_data_ptr(), residual_out, stream);
    return {dx, d_weight, d_bias, d_residual, {}};
  }
};

}  // namespace

at::Tensor batch_norm_activation(const at::Tensor& x, const at::Tensor& residual,
                                 const BatchNormState& state, ops::Activation activation,
                                 bool training, const StepContext& context) {
  std::optional<at::Tensor> added;
  if (residual.defined()) added = residual;
  std::optional<InPlace> in_place;
  if (context.gradient_complete && state.weight.requires_grad() && state.bias.requires_grad())
    in_place = InPlace{state.weight.grad(), state.bias.grad(), !context.gradients_are_zero,
                       state.index, context.gradient_complete};
  return BatchNormActivation::apply(
      x, state.weight, state.bias, added,
      Settings{activation, training, state.eps, state.momentum, state.running_mean,
               state.running_var, state.pending, context.sum_across_ranks, std::move(in_place)});
}

}  // namespace shoal::models
