#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include "models/functions.h"
#include "models/functions_internal.h"

namespace shoal::models {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

struct Attach : Function<Attach> {
  // Returns a copy of `loss` whose gradient with respect to the logits is `gradient`. Both are
  // already multiplied by the `scale` of cross_entropy().
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& logits, const at::Tensor& loss,
                            const at::Tensor& gradient) {
    (void)logits;
    ctx->save_for_backward({gradient});
    return loss.clone();
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
    const at::Tensor gradient = ctx->get_saved_variables()[0];
    return {gradient * gradients[0].to(gradient.scalar_type()), {}, {}};
  }
};

// Computes cross-entropy or, if `binary` is given, binary cross-entropy. The other parameters are
// those of cross_entropy().
LossResult loss_of(const at::Tensor& logits_any, const Labels& labels, double smoothing,
                   double scale, const at::Tensor& class_weights,
                   const ops::BinaryCrossEntropy* binary = nullptr) {
  const at::Tensor logits = logits_any.detach().contiguous();
  const auto options = logits.options();
  LossResult result;
  result.sums = at::zeros({3}, options.dtype(at::kLong));
  result.loss_sum = result.sums.select(0, 0).view(at::kDouble);
  result.top1 = result.sums.select(0, 1);
  result.top5 = result.sums.select(0, 2);
  at::Tensor gradient;
  if (logits_any.requires_grad()) gradient = at::empty_like(logits);
  const ops::CrossEntropy arguments = {
      .type = type_of(logits),
      .rows = logits.size(0),
      .classes = logits.size(1),
      .logits = logits.const_data_ptr(),
      .label_a = labels.a.const_data_ptr<int32_t>(),
      .label_b = labels.b.defined() ? labels.b.const_data_ptr<int32_t>() : nullptr,
      .lambda = labels.lambda.defined() ? labels.lambda.const_data_ptr<float>() : nullptr,
      .smoothing = static_cast<float>(smoothing),
      .gradient_scale = scale,
      .gradient = gradient.defined() ? gradient.mutable_data_ptr() : nullptr,
      .loss_sum = result.loss_sum.mutable_data_ptr<double>(),
      .top1 = result.top1.mutable_data_ptr<int64_t>(),
      .top5 = result.top5.mutable_data_ptr<int64_t>(),
      .class_weights = class_weights.defined() ? class_weights.const_data_ptr<double>() : nullptr};
  const ops::Table& table = operations(logits.device());
  void* const stream = stream_of(logits.device());
  if (binary)
    table.binary_cross_entropy(arguments, *binary, stream);
  else
    table.cross_entropy(arguments, stream);
  const at::Tensor loss = result.loss_sum * scale;
  result.loss = gradient.defined() ? Attach::apply(logits_any, loss, gradient) : loss;
  return result;
}

}  // namespace

LossResult cross_entropy(const at::Tensor& logits, const Labels& labels, double smoothing,
                         double scale, const at::Tensor& class_weights) {
  return loss_of(logits, labels, smoothing, scale, class_weights);
}

LossResult binary_cross_entropy(const at::Tensor& logits, const Labels& labels, double smoothing,
                                double scale, const ops::BinaryCrossEntropy& binary,
                                const at::Tensor& class_weights) {
  return loss_of(logits, labels, smoothing, scale, class_weights, &binary);
}

}  // namespace shoal::models
