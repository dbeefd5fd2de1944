// Squeeze-excite as one autograd function. Backward adds the gradient through the gate and the
// gradient through the pooled means in a single pass over the activations. LibTorch computes
// fc1 and fc2, because they are small: they process one value per image and channel.

#include <ATen/ops/addmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/hardsigmoid.h>
#include <ATen/ops/hardsigmoid_backward.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/sigmoid_backward.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/silu_backward.h>
#include <ATen/ops/threshold_backward.h>
#include <torch/csrc/autograd/custom_function.h>

#include "models/functions.h"
#include "models/functions_internal.h"

namespace shoal::models {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

ops::Gate operation(const at::Tensor& x, const at::Tensor& gate) {
  return {.type = type_of(x),
          .images = x.size(0),
          .pixels = x.size(2) * x.size(3),
          .channels = x.size(1),
          .x = x.const_data_ptr(),
          .gate = gate.defined() ? gate.const_data_ptr() : nullptr};
}

at::Tensor matrix(const at::Tensor& weight) {
  return weight.reshape({weight.size(0), weight.size(1)});
}

struct SqueezeExciteFunction : Function<SqueezeExciteFunction> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x_any,
                            const at::Tensor& weight1, const at::Tensor& bias1,
                            const at::Tensor& weight2, const at::Tensor& bias2, bool hard) {
    const at::Tensor x = channels_last(x_any);
    const ops::Table& table = operations(x.device());
    void* const stream = stream_of(x.device());
    const at::Tensor pooled =
        at::empty({x.size(0), x.size(1)}, weight1.options().requires_grad(false));
    table.pool(operation(x, {}), pooled.mutable_data_ptr(), stream);
    const at::Tensor hidden = at::addmm(bias1, pooled, matrix(weight1).t());
    const at::Tensor squeezed = hard ? at::relu(hidden) : at::silu(hidden);
    const at::Tensor excited = at::addmm(bias2, squeezed, matrix(weight2).t());
    const at::Tensor gate = hard ? at::hardsigmoid(excited) : at::sigmoid(excited);
    at::Tensor y = at::empty_like(x);
    table.gate_apply(operation(x, gate), y.mutable_data_ptr(), stream);
    ctx->save_for_backward({x, pooled, hidden, squeezed, excited, gate, weight1, weight2});
    ctx->saved_data["hard"] = hard;
    return y;
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
    const variable_list v = ctx->get_saved_variables();
    const at::Tensor &x = v[0], &pooled = v[1], &hidden = v[2], &squeezed = v[3];
    const at::Tensor &excited = v[4], &gate = v[5], &weight1 = v[6], &weight2 = v[7];
    const bool hard = ctx->saved_data["hard"].toBool();
    const at::Tensor dy = channels_last(gradients[0]);
    const ops::Table& table = operations(x.device());
    void* const stream = stream_of(x.device());
    const ops::Gate op = operation(x, gate);

    const at::Tensor d_gate = at::empty_like(gate);
    table.gate_backward_sums(op, dy.const_data_ptr(), d_gate.mutable_data_ptr(), stream);
    const at::Tensor d_excited =
        hard ? at::hardsigmoid_backward(d_gate, excited) : at::sigmoid_backward(d_gate, gate);
    const at::Tensor d_squeezed = at::mm(d_excited, matrix(weight2));
    const at::Tensor d_hidden = hard ? at::threshold_backward(d_squeezed, hidden, 0)
                                     : at::silu_backward(d_squeezed, hidden);
    const at::Tensor d_pooled = at::mm(d_hidden, matrix(weight1));
    at::Tensor dx = at::empty_like(x);
    table.gate_backward_apply(op, dy.const_data_ptr(), d_pooled.const_data_ptr(),
                              dx.mutable_data_ptr(), stream);
    return {dx,
            at::mm(d_hidden.t(), pooled).view(weight1.sizes()),
            d_hidden.sum(0),
            at::mm(d_excited.t(), squeezed).view(weight2.sizes()),
            d_excited.sum(0),
            {}};
  }
};

}  // namespace

at::Tensor squeeze_excite(const at::Tensor& x, const SqueezeExciteWeights& w, bool hard) {
  return SqueezeExciteFunction::apply(x, w.weight1, w.bias1, w.weight2, w.bias2, hard);
}

}  // namespace shoal::models
