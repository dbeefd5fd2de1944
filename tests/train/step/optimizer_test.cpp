// Tests the class Optimizer without its arithmetic, which tests/ops/optimizer_test.cpp tests.

#include "train/step/state/optimizer.h"

#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "dist/health/verify.h"
#include "tests/train/step/toy_classifier.h"

namespace {

using shoal::dist::hash;
using shoal::train::FlatParameters;
using shoal::train::Optimizer;
using shoal::train::OptimizerOptions;
using shoal::train::testing::ToyClassifier;
using Kind = OptimizerOptions::Kind;

OptimizerOptions options_of(Kind kind) {
  OptimizerOptions options;
  options.kind = kind;
  return options;
}

}  // namespace

TEST_CASE("SGD with momentum on a flat buffer equals SGD on single tensors") {
  ToyClassifier model, plain;
  FlatParameters flat(model, {.weight_decay = 0.125});
  OptimizerOptions options = options_of(Kind::sgd);
  Optimizer optimizer(options, flat);
  at::NoGradGuard no_grad;
  at::Tensor momentum = at::zeros({7, 5}), bias_momentum = at::zeros({7});
  for (int step = 0; step < 3; ++step) {
    for (const auto& parameter : flat.tensors()) parameter.grad().copy_(parameter.mul(0.5));
    momentum = momentum.mul(0.9).add(plain.fc_weight.mul(0.5 + 0.125));
    bias_momentum = bias_momentum.mul(0.9).add(plain.fc_bias.mul(0.5));
    plain.fc_weight.sub_(momentum.mul(0.1));
    plain.fc_bias.sub_(bias_momentum.mul(0.1));
    optimizer.step(0.1);
  }
  CHECK(optimizer.steps() == 3);
  CHECK(at::allclose(model.fc_weight, plain.fc_weight));
  CHECK(at::allclose(model.fc_bias, plain.fc_bias));
  CHECK(at::allclose(flat.contiguous_copy("fc.weight", optimizer.state()[0].flat), momentum));
}

TEST_CASE("gradients above the clipping norm are scaled down to it") {
  ToyClassifier model, original;
  FlatParameters flat(model, {});
  OptimizerOptions options = options_of(Kind::sgd);
  options.momentum = 0;
  options.clip = 2;
  Optimizer optimizer(options, flat);
  CHECK(optimizer.state().empty());
  at::NoGradGuard no_grad;
  for (const auto& parameter : flat.tensors()) parameter.grad().fill_(1);
  const at::Tensor norm = at::zeros({1}, at::kDouble), flag = at::zeros({1}, at::kInt);
  measure_gradients(flat, norm, flag);
  const double expected = std::sqrt(5 * 27 + 45 + 5 + 5 + 35 + 7);
  CHECK(norm.item<double>() == Approx(expected));
  CHECK(flag.item<int>() == 0);
  optimizer.step(0.1, norm, flag);
  CHECK(at::allclose(model.conv, original.conv.sub(0.1 * 2 / expected)));
}

TEST_CASE("the optimizer refreshes the low-precision copies") {
  ToyClassifier model;
  FlatParameters flat(model, {.copy_type = at::kBFloat16});
  Optimizer optimizer(options_of(Kind::adamw), flat);
  at::NoGradGuard no_grad;
  for (const auto& parameter : flat.tensors()) parameter.grad().fill_(1);
  optimizer.step(0.1);
  CHECK(at::equal(model.conv_copy, model.conv.to(at::kBFloat16)));
  CHECK(at::equal(flat.copies(), flat.flat().to(at::kBFloat16)));
}

TEST_CASE("a step with a non-finite gradient changes nothing") {
  for (const shoal::ops::OptimizerInfo& info : shoal::ops::kOptimizers) {
    const Kind kind = info.kind;
    ToyClassifier model;
    FlatParameters flat(model, {.copy_type = at::kBFloat16});
    Optimizer optimizer(options_of(kind), flat);
    at::NoGradGuard no_grad;
    model.fc_bias.grad().fill_(std::numeric_limits<double>::infinity());
    const at::Tensor norm = at::zeros({1}, at::kDouble), flag = at::zeros({1}, at::kInt);
    const auto hashes = [&] {
      return hash({flat.flat(), optimizer.state()[0].flat, flat.copies()});
    };
    const uint64_t before = hashes();
    measure_gradients(flat, norm, flag);
    CHECK(flag.item<int>() == 1);
    optimizer.step(0.1, norm, flag);
    CHECK(hashes() == before);
  }
}

TEST_CASE("an optimizer with copied state and number of steps continues identically") {
  for (const shoal::ops::OptimizerInfo& info : shoal::ops::kOptimizers) {
    const Kind kind = info.kind;
    ToyClassifier model, resumed_model;
    FlatParameters flat(model, {}), resumed(resumed_model, {});
    Optimizer optimizer(options_of(kind), flat), other(options_of(kind), resumed);
    at::NoGradGuard no_grad;
    const auto step = [](Optimizer& o, FlatParameters& p) {
      p.gradients().copy_(p.flat());
      o.step(0.01);
    };
    step(optimizer, flat);
    step(optimizer, flat);
    for (const auto& name : flat.names()) {
      resumed.load(name, flat.contiguous_copy(name));
      for (size_t s = 0; s < optimizer.state().size(); ++s) {
        CHECK(optimizer.state()[s].name == other.state()[s].name);
        resumed.load(name, flat.contiguous_copy(name, optimizer.state()[s].flat),
                     other.state()[s].flat);
      }
    }
    other.set_steps(optimizer.steps());
    step(optimizer, flat);
    step(other, resumed);
    INFO(info.name);
    CHECK(hash({flat.flat()}) == hash({resumed.flat()}));
  }
}

TEST_CASE("the padding stays zero with every optimizer") {
  for (const shoal::ops::OptimizerInfo& info : shoal::ops::kOptimizers) {
    const Kind kind = info.kind;
    ToyClassifier model;
    FlatParameters flat(model, {});
    Optimizer optimizer(options_of(kind), flat);
    at::NoGradGuard no_grad;
    for (const auto& parameter : flat.tensors()) parameter.grad().fill_(1);
    for (int i = 0; i < 3; ++i) optimizer.step(0.1);
    double inside = 0;
    for (const auto& parameter : flat.tensors()) inside += parameter.abs().sum().item<double>();
    CHECK(flat.flat().abs().sum().item<double>() == Approx(inside));
    CHECK(flat.flat().narrow(0, 135, 9).abs().sum().item<double>() == 0);
  }
}

TEST_CASE("parameters that are not trained keep their bits, and later step like new ones") {
  for (const shoal::ops::OptimizerInfo& info : shoal::ops::kOptimizers) {
    const Kind kind = info.kind;
    INFO(info.name);
    ToyClassifier model, original, late_model;
    FlatParameters flat(model, {.weight_decay = 0.1}), late(late_model, {.weight_decay = 0.1});
    Optimizer optimizer(options_of(kind), flat), late_optimizer(options_of(kind), late);
    at::NoGradGuard no_grad;
    const auto step = [](Optimizer& o, FlatParameters& p) {
      for (const at::Tensor& t : p.tensors()) t.grad().copy_(t.mul(0.5));
      o.step(0.01);
    };
    std::vector<bool> trained(flat.tensors().size(), true);
    trained[0] = trained[4] = false;  // conv.weight, fc.weight
    flat.train_only(trained, 0);
    CHECK(flat.trained_tensors().size() == 4);
    CHECK_FALSE(model.conv.requires_grad());
    for (int i = 0; i < 3; ++i) step(optimizer, flat);
    CHECK(at::equal(model.conv, original.conv));
    CHECK(at::equal(model.fc_weight, original.fc_weight));
    CHECK_FALSE(at::equal(model.depthwise, original.depthwise));
    flat.train_only(std::vector<bool>(trained.size(), true), optimizer.steps());
    for (int i = 0; i < 3; ++i) {
      step(optimizer, flat);
      step(late_optimizer, late);
    }
    CHECK(at::equal(model.conv, late_model.conv));
    CHECK(at::equal(model.fc_weight, late_model.fc_weight));
    CHECK_FALSE(at::equal(model.depthwise, late_model.depthwise));
  }
}
