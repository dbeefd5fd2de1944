#include "models/layers.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/mean.h>

#include <algorithm>
#include <cmath>

#include "models/masks.h"

namespace shoal::models {
namespace {

constexpr double kMostDropped = 0.999;  // upper limit of the dropout rate after scaling

}  // namespace

Conv2d::Conv2d(Builder& builder, const std::string& name, const ConvOptions& o)
    : shape_{o.stride, (o.kernel - 1) / 2, o.groups} {
  const double fan_out = static_cast<double>(o.out * o.kernel * o.kernel);
  builder.normal(name + ".weight", {o.out, o.in / o.groups, o.kernel, o.kernel},
                 std::sqrt(2 / fan_out), &weight_, &weight_copy_);
  builder.side = (builder.side - 1) / o.stride + 1;
  builder.count(fan_out * static_cast<double>(o.in / o.groups * builder.side * builder.side));
}

at::Tensor Conv2d::forward(const at::Tensor& x) const {
  return convolution(x, weight_, weight_copy_, shape_);
}

BatchNorm::BatchNorm(Builder& builder, const std::string& name, int64_t channels, double eps,
                     double momentum)
    : eps_(eps), momentum_(momentum) {
  builder.constant(name + ".weight", channels, 1, &weight_);
  builder.constant(name + ".bias", channels, 0, &bias_);
  builder.batch_norm({name, &running_mean_, &running_var_, &num_batches_tracked_, &pending_},
                     channels);
}

at::Tensor BatchNorm::forward(const at::Tensor& x, const at::Tensor& residual,
                              ops::Activation activation, bool training,
                              const StepContext& context) const {
  const BatchNormState state{weight_,  bias_, running_mean_, running_var_,
                             pending_, eps_,  momentum_};
  return batch_norm_activation(x, residual, state, activation, training, context);
}

Linear::Linear(Builder& builder, const std::string& name, int64_t in, int64_t out,
               LinearInit init) {
  if (init == LinearInit::by_outputs) {
    builder.uniform(name + ".weight", {out, in}, 1 / std::sqrt(static_cast<double>(out)), &weight_);
    builder.constant(name + ".bias", out, 0, &bias_);
  } else {
    const double bound = 1 / std::sqrt(static_cast<double>(in));
    builder.uniform(name + ".weight", {out, in}, bound, &weight_);
    builder.uniform(name + ".bias", {out}, bound, &bias_);
  }
  builder.count(static_cast<double>(in * out));
}

at::Tensor Linear::forward(const at::Tensor& x) const {
  return at::addmm(bias_, x, weight_.t());
}

SqueezeExcite::SqueezeExcite(Builder& builder, const std::string& name, int64_t channels,
                             int64_t squeezed) {
  const auto fc = [&](const char* part, int64_t in, int64_t out, at::Tensor* weight,
                      at::Tensor* bias) {
    builder.normal(name + part + ".weight", {out, in, 1, 1},
                   std::sqrt(2 / static_cast<double>(out)), weight, nullptr);
    builder.constant(name + part + ".bias", out, 0, bias);
    builder.count(static_cast<double>(in * out));
  };
  fc(".fc1", channels, squeezed, &weight1_, &bias1_);
  fc(".fc2", squeezed, channels, &weight2_, &bias2_);
}

at::Tensor SqueezeExcite::forward(const at::Tensor& x) const {
  return squeeze_excite(x, {weight1_, bias1_, weight2_, bias2_});
}

PooledFeatures::PooledFeatures(Builder& builder, double dropout)
    : dropout_(dropout), mask_layer_(builder.next_mask_layer()) {}

at::Tensor PooledFeatures::forward(const at::Tensor& x, bool training,
                                   const StepContext& context) const {
  const at::Tensor pooled = at::mean(x, {2, 3}, /*keepdim=*/false, statistics_dtype(x));
  const double dropout = std::min(dropout_ * context.strength, kMostDropped);
  if (!training || dropout <= 0) return pooled;
  return pooled * element_mask(pooled, dropout, mask_layer_, context);
}

DropPath::DropPath(Builder& builder, double drop)
    : drop_(drop), mask_layer_(builder.next_mask_layer()) {}

at::Tensor DropPath::forward(const at::Tensor& skip, const at::Tensor& branch,
                             const StepContext& context) const {
  return add_scaled(skip, branch, row_mask(branch, drop_, mask_layer_, context));
}

}  // namespace shoal::models
