// Depthwise convolution in float64, which only tests use. For each kernel position, adds the
// shifted input times the weights to the output. This is 3 to 5 times as fast as LibTorch's float64
// convolution, which processes one channel at a time.

#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include "models/functions_internal.h"

namespace shoal::models {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

// Calls visit(row, column, weights, window) for each position (row, column) of the kernel.
// `weights`: the weight of each channel at this position. `window`: the view of `padded` to
// multiply by these weights.
template <class Visit>
void for_each_place(const at::Tensor& padded, const at::Tensor& weight, const at::Tensor& y,
                    int64_t stride, const Visit& visit) {
  const auto slice = [&](const at::Tensor& from, int64_t dimension, int64_t place) {
    const int64_t last = place + stride * (y.size(dimension) - 1);
    return from.slice(dimension, place, last + 1, stride);
  };
  for (int64_t row = 0; row < weight.size(2); ++row)
    for (int64_t column = 0; column < weight.size(3); ++column)
      visit(row, column, weight.select(3, column).select(2, row).view({1, -1, 1, 1}),
            slice(slice(padded, 2, row), 3, column));
}

at::Tensor padded_by(const at::Tensor& x, int64_t padding) {
  return at::constant_pad_nd(x, {padding, padding, padding, padding});
}

struct DoubleDepthwise : Function<DoubleDepthwise> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& weight,
                            const ConvolutionShape& s) {
    ctx->save_for_backward({x, weight});
    ctx->saved_data["shape"] = encapsulate(s);
    const auto length = [&](int64_t dimension) {
      return (x.size(dimension) + 2 * s.padding - weight.size(dimension)) / s.stride + 1;
    };
    at::Tensor y = at::zeros({x.size(0), x.size(1), length(2), length(3)},
                             x.options().memory_format(at::MemoryFormat::ChannelsLast));
    for_each_place(padded_by(x, s.padding), weight, y, s.stride,
                   [&](int64_t, int64_t, const at::Tensor& w, const at::Tensor& window) {
                     y.addcmul_(window, w);
                   });
    return y;
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor &x = saved[0], &weight = saved[1], &dy = gradients[0];
    const auto& s = decapsulate<ConvolutionShape>(ctx->saved_data["shape"]);
    const at::Tensor padded = padded_by(x, s.padding);
    at::Tensor d_padded = at::zeros_like(padded), d_weight = at::empty_like(weight);
    for_each_place(
        padded, weight, dy, s.stride,
        [&](int64_t row, int64_t column, const at::Tensor&, const at::Tensor& window) {
          d_weight.select(3, column).select(2, row).squeeze(1).copy_((dy * window).sum({0, 2, 3}));
        });
    for_each_place(d_padded, weight, dy, s.stride,
                   [&](int64_t, int64_t, const at::Tensor& w, const at::Tensor& window) {
                     window.addcmul_(dy, w);
                   });
    return {d_padded.slice(2, s.padding, s.padding + x.size(2))
                .slice(3, s.padding, s.padding + x.size(3)),
            d_weight,
            {}};
  }
};

}  // namespace

at::Tensor double_depthwise(const at::Tensor& x, const at::Tensor& weight,
                            const ConvolutionShape& s) {
  return DoubleDepthwise::apply(x, weight, s);
}

}  // namespace shoal::models
