#pragma once
// A small classifier for tests of train/ that need no real model: the parameters and buffers of a
// convolution, a depthwise convolution, two batch norms and a linear layer. No size is a multiple
// of the alignment, so padding follows every parameter.

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include "models/model.h"

namespace shoal::train::testing {

inline at::Tensor numbers(at::IntArrayRef sizes, double first) {
  int64_t count = 1;
  for (int64_t size : sizes) count *= size;
  return at::arange(count, at::kDouble).mul(0.37).add(first).sin().reshape(sizes).to(at::kFloat);
}

class ToyClassifier final : public models::Classifier {
 public:
  ToyClassifier() {
    for (at::Tensor* t : {&conv, &depthwise, &bn_weight, &bn_bias, &fc_weight, &fc_bias}) {
      t->set_requires_grad(true);
    }
    info_.batch_norm_momentum = 0.1;
  }

  // Returns a loss that depends on every parameter: Σ parameter² / 2.
  at::Tensor forward(const at::Tensor&, const models::StepContext&) override {
    at::Tensor loss = at::zeros({}, conv.options());
    for (const at::Tensor* t : {&conv, &depthwise, &bn_weight, &bn_bias, &fc_weight, &fc_bias}) {
      loss = loss.add(t->mul(*t).sum().mul(0.5));
    }
    return loss;
  }
  void train(bool) override {}
  std::vector<models::ParameterSlot> parameters() override {
    return {{"conv.weight", &conv, &conv_copy},
            {"depthwise.weight", &depthwise, &depthwise_copy},
            {"bn.weight", &bn_weight, nullptr, {.decays = false, .norm = true}},
            {"bn.bias", &bn_bias, nullptr, {.decays = false, .norm = true}},
            {"fc.weight", &fc_weight, &fc_copy},
            {"fc.bias", &fc_bias, nullptr, {.decays = false}}};
  }
  std::vector<models::BatchNormSlot> batch_norms() override {
    return {{"bn", &mean, &variance, &tracked, &pending, &fixed},
            {"bn2", &mean2, &variance2, &tracked2, &pending2, &fixed2}};
  }
  const models::ModelInfo& info() const override { return info_; }

  at::Tensor conv = numbers({5, 3, 3, 3}, 0.1), depthwise = numbers({5, 1, 3, 3}, 0.2);
  at::Tensor bn_weight = numbers({5}, 0.3), bn_bias = numbers({5}, 0.4);
  at::Tensor fc_weight = numbers({7, 5}, 0.5), fc_bias = numbers({7}, 0.6);
  at::Tensor conv_copy, depthwise_copy, fc_copy;
  at::Tensor mean = numbers({5}, 1.0), variance = at::ones({5}), pending = at::zeros({2, 5});
  at::Tensor mean2 = numbers({9}, 2.0), variance2 = at::ones({9}), pending2 = at::zeros({2, 9});
  at::Tensor tracked = at::zeros({}, at::kLong), tracked2 = at::zeros({}, at::kLong);
  bool fixed = false, fixed2 = false;

 private:
  models::ModelInfo info_;
};

}  // namespace shoal::train::testing
