#include "models/functions.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/addcmul.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/empty.h>
#include <c10/core/Stream.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <tuple>

#include "base/processor.h"
#include "models/functions_internal.h"
#include "models/network.h"

namespace shoal::models {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

const ops::Table& operations(at::Device device) {
  if (device.is_cpu()) return ops::cpu();
  if (device.is_cuda() && ops::gpu() != nullptr) return *ops::gpu();
  throw std::invalid_argument("no operations for device " + device.str());
}

c10::Stream current_stream(at::Device device) {
  return c10::impl::VirtualGuardImpl(device.type()).getStream(device);
}

c10::Stream other_stream(at::Device device) {
  return c10::impl::VirtualGuardImpl(device.type()).getStreamFromGlobalPool(device);
}

void* stream_of(at::Device device) {
  return device.is_cpu() ? nullptr : current_stream(device).native_handle();
}

at::Tensor upload(const at::Tensor& host, at::Device device) {
  if (device.is_cpu()) return host;
  return host.pin_memory().to(device, host.scalar_type(), /*non_blocking=*/true);
}

ops::Type type_of(const at::Tensor& x) {
  switch (x.scalar_type()) {
    case at::kFloat:
      return ops::Type::f32;
    case at::kDouble:
      return ops::Type::f64;
    case at::kBFloat16:
      return ops::Type::bf16;
    default:
      throw std::invalid_argument(std::string("no operations for dtype ") +
                                  c10::toString(x.scalar_type()));
  }
}

at::ScalarType statistics_dtype(const at::Tensor& x) {
  return x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

namespace {

at::Tensor convolve(const at::Tensor& x, const at::Tensor& weight, const ConvolutionShape& s) {
  return at::convolution(x, weight, {}, {s.stride, s.stride}, {s.padding, s.padding}, {1, 1}, false,
                         {0, 0}, s.groups);
}

// Whether the device has our fast weight gradient for this convolution: depthwise, 3×3 or 5×5. For
// 5×5, LibTorch has only a general implementation, which takes four times as long.
bool has_depthwise_gradient(const at::Tensor& x, const at::Tensor& weight, int64_t groups) {
  const int64_t kernel = weight.size(2);
  return operations(x.device()).depthwise_backward_weights && x.scalar_type() == at::kFloat &&
         weight.scalar_type() == at::kFloat && groups == x.size(1) && groups == weight.size(0) &&
         groups % 8 == 0 && (kernel == 3 || kernel == 5) && weight.size(3) == kernel;
}

struct ConvolutionGradients {
  at::Tensor dx;  // undefined if not requested
  at::Tensor d_weight;
};

// Computes the gradients of a convolution. All tensors have the same dtype.
ConvolutionGradients differentiate(const at::Tensor& dy_any, const at::Tensor& x_any,
                                   const at::Tensor& weight, const ConvolutionShape& s,
                                   bool wants_dx) {
  const bool depthwise = has_depthwise_gradient(x_any, weight, s.groups);
  ConvolutionGradients result;
  if (wants_dx || !depthwise) {
    std::tie(result.dx, result.d_weight, std::ignore) = at::convolution_backward(
        dy_any, x_any, weight, {}, {s.stride, s.stride}, {s.padding, s.padding}, {1, 1}, false,
        {0, 0}, s.groups, {wants_dx, !depthwise, false});
  }
  if (!depthwise) return result;
  const at::Tensor x = channels_last(x_any);
  const at::Tensor dy = channels_last(dy_any);
  result.d_weight =
      at::empty(weight.sizes(), weight.options().memory_format(at::MemoryFormat::Contiguous));
  operations(x.device())
      .depthwise_backward_weights({.type = type_of(x),
                                   .images = x.size(0),
                                   .height = x.size(2),
                                   .width = x.size(3),
                                   .channels = x.size(1),
                                   .kernel = weight.size(2),
                                   .stride = s.stride,
                                   .padding = s.padding},
                                  x.const_data_ptr(), dy.const_data_ptr(),
                                  result.d_weight.mutable_data_ptr(), nullptr);
  return result;
}

// Returns the dtype in which to convolve x. On the CPU, LibTorch's 16-bit convolutions are fast
// only in bfloat16 with AVX-512 BF16 and without groups. In all other cases, converting to float32,
// convolving and converting back is 20 times faster.
at::ScalarType compute_dtype(const at::Tensor& x, const ConvolutionShape& s) {
  const at::ScalarType dtype = x.scalar_type();
  if (!x.is_cpu() || dtype == at::kDouble) return dtype;
  const bool fast = dtype == at::kBFloat16 && processor().avx512_bf16 && s.groups == 1;
  return fast ? dtype : at::kFloat;
}

// Convolution in mixed precision. Computes with `copy`, the weight in the dtype of the activations.
// The weight's gradient goes to `master`, in the dtype of `master`.
struct MixedConvolution : Function<MixedConvolution> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& master,
                            const at::Tensor& copy, const ConvolutionShape& s) {
    ctx->save_for_backward({x, copy});
    ctx->saved_data["shape"] = encapsulate(s);
    ctx->saved_data["dtype"] = static_cast<int64_t>(master.scalar_type());
    const at::ScalarType compute = compute_dtype(x, s);
    return convolve(x.to(compute), copy.to(compute), s).to(x.scalar_type());
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
    const variable_list saved = ctx->get_saved_variables();
    const auto& s = decapsulate<ConvolutionShape>(ctx->saved_data["shape"]);
    const auto dtype = static_cast<at::ScalarType>(ctx->saved_data["dtype"].toInt());
    const at::Tensor& x = saved[0];
    const at::ScalarType compute = compute_dtype(x, s);
    const ConvolutionGradients result = differentiate(
        gradients[0].to(compute), x.to(compute), saved[1].to(compute), s, ctx->needs_input_grad(0));
    const at::Tensor dx = result.dx.defined() ? result.dx.to(x.scalar_type()) : result.dx;
    return {dx, result.d_weight.to(dtype), {}, {}};
  }
};

struct DepthwiseConvolution : Function<DepthwiseConvolution> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& weight,
                            const ConvolutionShape& s) {
    ctx->save_for_backward({x, weight});
    ctx->saved_data["shape"] = encapsulate(s);
    return convolve(x, weight, s);
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
    const variable_list saved = ctx->get_saved_variables();
    const auto& s = decapsulate<ConvolutionShape>(ctx->saved_data["shape"]);
    const ConvolutionGradients result =
        differentiate(gradients[0], saved[0], saved[1], s, ctx->needs_input_grad(0));
    return {result.dx, result.d_weight, {}};
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

// Returns x, padded with zeros like TensorFlow's SAME. `kernel`: height and width, in pixels.
at::Tensor padded_like_tensorflow(const at::Tensor& x, int64_t kernel, int64_t stride) {
  const int64_t high = same_padding(kernel, stride, x.size(2));
  const int64_t wide = same_padding(kernel, stride, x.size(3));
  return at::constant_pad_nd(x, {wide / 2, wide - wide / 2, high / 2, high - high / 2});
}

}  // namespace

at::Tensor convolution(const at::Tensor& any, const at::Tensor& master, const at::Tensor& copy,
                       const ConvolutionShape& any_shape) {
  at::Tensor x = any;
  ConvolutionShape s = any_shape;
  if (s.same && s.stride == 1) {  // for odd kernels, the padding is then the same on all sides
    s.padding = (master.size(2) - 1) / 2;
  } else if (s.same) {
    x = padded_like_tensorflow(x, master.size(2), s.stride);
    s.padding = 0;
  }
  if (copy.defined()) return MixedConvolution::apply(x, master, copy, s);
  const bool depthwise = s.groups == x.size(1) && s.groups == master.size(0);
  if (depthwise && x.is_cpu() && x.scalar_type() == at::kDouble)
    return double_depthwise(x, master, s);
  if (has_depthwise_gradient(x, master, s.groups)) return DepthwiseConvolution::apply(x, master, s);
  return convolve(x, master, s);
}

at::Tensor add_scaled(const at::Tensor& skip, const at::Tensor& branch, const at::Tensor& scale) {
  return AddScaled::apply(skip, branch, scale);
}

}  // namespace shoal::models
