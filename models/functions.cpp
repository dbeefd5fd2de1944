#include "models/functions.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/addcmul.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/custom_function.h>

#include <stdexcept>
#include <string>

#include "models/functions_internal.h"

namespace shoal::models {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

const ops::Table& operations(const at::Tensor& x) {
  if (!x.is_cpu()) throw std::invalid_argument("no operations for device " + x.device().str());
  return ops::cpu();
}

ops::Type type_of(const at::Tensor& x) {
  switch (x.scalar_type()) {
    case at::kFloat:
      return ops::Type::f32;
    case at::kDouble:
      return ops::Type::f64;
    case at::kBFloat16:
      return ops::Type::bf16;
    case at::kHalf:
      return ops::Type::f16;
    default:
      throw std::invalid_argument(std::string("no operations for dtype ") +
                                  c10::toString(x.scalar_type()));
  }
}

at::ScalarType statistics_dtype(const at::Tensor& x) {
  return x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

namespace {

// A convolution whose weight has a copy in the dtype of the activations.
struct MixedConvolution : Function<MixedConvolution> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& master,
                            const at::Tensor& copy, const ConvolutionShape& s) {
    ctx->save_for_backward({x, copy});
    ctx->saved_data["shape"] = encapsulate(s);
    ctx->saved_data["dtype"] = static_cast<int64_t>(master.scalar_type());
    return at::convolution(x, copy, {}, {s.stride, s.stride}, {s.padding, s.padding}, {1, 1}, false,
                           {0, 0}, s.groups);
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
    const variable_list saved = ctx->get_saved_variables();
    const auto& s = decapsulate<ConvolutionShape>(ctx->saved_data["shape"]);
    const auto dtype = static_cast<at::ScalarType>(ctx->saved_data["dtype"].toInt());
    auto [dx, d_weight, d_bias] = at::convolution_backward(
        gradients[0], saved[0], saved[1], {}, {s.stride, s.stride}, {s.padding, s.padding}, {1, 1},
        false, {0, 0}, s.groups, {ctx->needs_input_grad(0), true, false});
    return {dx, d_weight.to(dtype), {}, {}};
  }
};

// Whether the gradient of the weights has a fast loop of ours. LibTorch's takes the general path
// for 5×5 kernels, which is four times slower.
bool has_depthwise_gradient(const at::Tensor& x, const at::Tensor& weight, int64_t groups) {
  const int64_t kernel = weight.size(2);
  return x.is_cpu() && x.scalar_type() == at::kFloat && weight.scalar_type() == at::kFloat &&
         groups == x.size(1) && groups == weight.size(0) && groups % 8 == 0 &&
         (kernel == 3 || kernel == 5) && weight.size(3) == kernel;
}

struct DepthwiseConvolution : Function<DepthwiseConvolution> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& weight,
                            const ConvolutionShape& s) {
    ctx->save_for_backward({x, weight});
    ctx->saved_data["shape"] = encapsulate(s);
    return at::convolution(x, weight, {}, {s.stride, s.stride}, {s.padding, s.padding}, {1, 1},
                           false, {0, 0}, s.groups);
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
    const variable_list saved = ctx->get_saved_variables();
    const auto& s = decapsulate<ConvolutionShape>(ctx->saved_data["shape"]);
    const at::Tensor x = saved[0].contiguous(at::MemoryFormat::ChannelsLast);
    const at::Tensor dy = gradients[0].contiguous(at::MemoryFormat::ChannelsLast);
    const at::Tensor& weight = saved[1];
    at::Tensor dx;
    if (ctx->needs_input_grad(0)) {
      dx = std::get<0>(at::convolution_backward(dy, x, weight, {}, {s.stride, s.stride},
                                                {s.padding, s.padding}, {1, 1}, false, {0, 0},
                                                s.groups, {true, false, false}));
    }
    at::Tensor d_weight =
        at::empty(weight.sizes(), weight.options().memory_format(at::MemoryFormat::Contiguous));
    operations(x).depthwise_backward_weights({.type = type_of(x),
                                              .pictures = x.size(0),
                                              .height = x.size(2),
                                              .width = x.size(3),
                                              .channels = x.size(1),
                                              .kernel = weight.size(2),
                                              .stride = s.stride,
                                              .padding = s.padding},
                                             x.const_data_ptr(), dy.const_data_ptr(),
                                             d_weight.mutable_data_ptr(), nullptr);
    return {dx, d_weight, {}};
  }
};

struct AddScaled : Function<AddScaled> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& skip, const at::Tensor& branch,
                            const at::Tensor& scale) {
    const at::Tensor column = scale.view({-1, 1, 1, 1});
    ctx->save_for_backward({column});
    return at::addcmul(skip, branch, column);
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
    return {gradients[0], gradients[0] * ctx->get_saved_variables()[0], {}};
  }
};

}  // namespace

at::Tensor convolution(const at::Tensor& x, const at::Tensor& master, const at::Tensor& copy,
                       const ConvolutionShape& s) {
  if (copy.defined()) return MixedConvolution::apply(x, master, copy, s);
  if (has_depthwise_gradient(x, master, s.groups)) return DepthwiseConvolution::apply(x, master, s);
  return at::convolution(x, master, {}, {s.stride, s.stride}, {s.padding, s.padding}, {1, 1}, false,
                         {0, 0}, s.groups);
}

at::Tensor add_scaled(const at::Tensor& skip, const at::Tensor& branch, const at::Tensor& scale) {
  return AddScaled::apply(skip, branch, scale);
}

}  // namespace shoal::models
