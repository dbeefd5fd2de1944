// Compares the autograd functions with the same operations in ATen, differentiated by ATen.

#include "models/functions.h"

#include <ATen/ATen.h>

#include <catch2/catch.hpp>

#include "tests/models/formula.h"

using namespace shoal::models;
using shoal::ops::Activation;
namespace testing = shoal::models::testing;

namespace {

constexpr auto kChannelsLast = at::MemoryFormat::ChannelsLast;

at::Tensor leaf(const std::string& name, at::IntArrayRef shape,
                at::ScalarType dtype = at::kDouble) {
  at::Tensor t = testing::uniform(name, shape).to(dtype);
  if (t.dim() == 4) t = t.contiguous(kChannelsLast);
  return t.requires_grad_();
}

double distance(const at::Tensor& got, const at::Tensor& want) {
  const at::Tensor w = want.detach().to(at::kDouble);
  return ((got.detach().to(at::kDouble) - w).norm() / w.norm()).item<double>();
}

struct NormLayer {
  at::Tensor weight, bias, mean, var, pending;
  explicit NormLayer(int64_t channels, at::ScalarType dtype = at::kDouble)
      : weight(leaf("weight", {channels}, dtype)),
        bias(leaf("bias", {channels}, dtype)),
        mean(testing::uniform("mean", {channels}).to(dtype)),
        var((1.5 + testing::uniform("var", {channels})).to(dtype)),
        pending(at::zeros({2, channels}, dtype)) {}
  BatchNormState state() const { return {weight, bias, mean, var, pending, 1e-3, 0.1}; }
};

at::Tensor activated(const at::Tensor& z, Activation activation) {
  if (activation == Activation::silu) return at::silu(z);
  if (activation == Activation::relu6) return at::hardtanh(z, 0, 6);
  if (activation == Activation::hard_swish) return at::hardswish(z);
  return activation == Activation::relu ? at::relu(z) : z;
}

}  // namespace

TEST_CASE(
    "batch norm with activation and residual has the values and gradients of the separate "
    "operations") {
  for (const bool training : {true, false}) {
    for (const bool with_residual : {false, true}) {
      for (const Activation activation : {Activation::none, Activation::relu, Activation::relu6,
                                          Activation::silu, Activation::hard_swish}) {
        INFO((training ? "training" : "evaluation")
             << " activation " << static_cast<int>(activation)
             << (with_residual ? " residual" : ""));
        const NormLayer ours(16), theirs(16);
        const at::Tensor x = leaf("x", {3, 16, 5, 4}), x2 = leaf("x", {3, 16, 5, 4});
        const at::Tensor r = leaf("r", {3, 16, 5, 4}), r2 = leaf("r", {3, 16, 5, 4});
        const at::Tensor direction = testing::uniform("direction", {3, 16, 5, 4});

        const at::Tensor y = batch_norm_activation(x, with_residual ? r : at::Tensor(),
                                                   ours.state(), activation, training, {});
        at::Tensor z = at::batch_norm(x2, theirs.weight, theirs.bias, theirs.mean, theirs.var,
                                      training, 0.1, 1e-3, false);
        if (with_residual) z = z + r2;
        const at::Tensor y2 = activated(z, activation);
        CHECK(y.is_contiguous(kChannelsLast));
        CHECK(distance(y, y2) < 1e-12);
        (y * direction).sum().backward();
        (y2 * direction).sum().backward();
        CHECK(distance(x.grad(), x2.grad()) < 1e-11);
        CHECK(distance(ours.weight.grad(), theirs.weight.grad()) < 1e-11);
        CHECK(distance(ours.bias.grad(), theirs.bias.grad()) < 1e-11);
        if (with_residual) CHECK(distance(r.grad(), r2.grad()) < 1e-11);
        if (training) {  // ATen has updated the running statistics; our update is in `pending`
          CHECK(distance(0.9 * ours.mean + ours.pending[0], theirs.mean) < 1e-12);
          CHECK(distance(0.9 * ours.var + ours.pending[1], theirs.var) < 1e-12);
        } else {
          CHECK(ours.pending.abs().sum().item<double>() == 0);
        }
      }
    }
  }
}

TEST_CASE(
    "batch norm accepts bfloat16 activations with float statistics, and non-contiguous "
    "activations") {
  const NormLayer ours(16, at::kFloat), theirs(16, at::kFloat);
  const at::Tensor x = leaf("x", {3, 16, 5, 4}, at::kBFloat16);
  const at::Tensor x2 = x.detach().to(at::kFloat).requires_grad_();
  const at::Tensor y = batch_norm_activation(x, {}, ours.state(), Activation::silu, true, {});
  const at::Tensor y2 =
      at::silu(at::batch_norm(x2, theirs.weight, theirs.bias, {}, {}, true, 0.1, 1e-3, false));
  REQUIRE(y.scalar_type() == at::kBFloat16);
  CHECK(distance(y, y2) < 0.005);
  y.sum().backward();
  y2.sum().backward();
  CHECK(x.grad().scalar_type() == at::kBFloat16);
  CHECK(ours.weight.grad().scalar_type() == at::kFloat);
  CHECK(distance(ours.bias.grad(), theirs.bias.grad()) < 0.001);

  const at::Tensor ordinary = x2.detach().contiguous();
  CHECK(distance(batch_norm_activation(ordinary, {}, ours.state(), Activation::silu, true, {}),
                 y2) < 1e-6);
}

TEST_CASE(
    "sums of other ranks affect the statistics and the input's gradient, but not the parameters' "
    "gradients") {
  // Two ranks with equal data correspond to one rank with a doubled batch: summing over the ranks
  // doubles every value.
  const NormLayer ours(8), theirs(8);
  const at::Tensor x = leaf("x", {2, 8, 3, 3}),
                   whole = at::cat({x.detach(), x.detach()}).requires_grad_();
  int calls = 0;
  StepContext context;
  context.sum_across_ranks = [&](at::Tensor& sums) {
    CHECK(sums.scalar_type() == at::kDouble);
    sums.mul_(2);
    ++calls;
  };
  const at::Tensor direction = testing::uniform("direction", {2, 8, 3, 3});
  const at::Tensor y = batch_norm_activation(x, {}, ours.state(), Activation::silu, true, context);
  const at::Tensor y2 = batch_norm_activation(whole.contiguous(kChannelsLast), {}, theirs.state(),
                                              Activation::silu, true, {});
  CHECK(distance(y, y2.slice(0, 0, 2)) < 1e-13);
  CHECK(distance(ours.pending, theirs.pending) < 1e-13);
  (y * direction).sum().backward();
  (y2 * at::cat({direction, direction})).sum().backward();
  CHECK(calls == 2);
  CHECK(distance(x.grad(), whole.grad().slice(0, 0, 2)) < 1e-12);
  CHECK(distance(2 * ours.weight.grad(), theirs.weight.grad()) < 1e-12);
}

TEST_CASE("squeeze-excite has the values and gradients of the separate operations") {
  const auto leaves = [] {
    return std::vector<at::Tensor>{leaf("x", {3, 16, 5, 4}), leaf("w1", {4, 16, 1, 1}),
                                   leaf("b1", {4}), leaf("w2", {16, 4, 1, 1}), leaf("b2", {16})};
  };
  const std::vector<at::Tensor> v = leaves(), w = leaves();
  const at::Tensor direction = testing::uniform("direction", {3, 16, 5, 4});
  const at::Tensor y = squeeze_excite(v[0], {v[1], v[2], v[3], v[4]});
  const at::Tensor pooled = w[0].mean({2, 3}, true);
  const at::Tensor gate =
      at::sigmoid(at::conv2d(at::silu(at::conv2d(pooled, w[1], w[2])), w[3], w[4]));
  const at::Tensor y2 = w[0] * gate;
  CHECK(distance(y, y2) < 1e-12);
  (y * direction).sum().backward();
  (y2 * direction).sum().backward();
  for (size_t i = 0; i < v.size(); ++i) CHECK(distance(v[i].grad(), w[i].grad()) < 1e-11);
}

TEST_CASE("a residual branch is scaled per image and added, and its gradient is scaled") {
  const at::Tensor skip = leaf("skip", {3, 8, 2, 2}), branch = leaf("branch", {3, 8, 2, 2});
  const at::Tensor scale = at::tensor({0.0, 2.0, 1.25}, at::kDouble);
  const at::Tensor y = add_scaled(skip, branch, scale);
  CHECK(distance(y, skip + branch * scale.view({3, 1, 1, 1})) < 1e-15);
  y.sum().backward();
  CHECK(skip.grad().eq(1).all().item<bool>());
  CHECK(distance(branch.grad(), scale.view({3, 1, 1, 1}).expand({3, 8, 2, 2})) < 1e-15);
}

TEST_CASE(
    "a convolution with a bfloat16 copy of the weight computes with the copy, and the master "
    "weight "
    "gets a float gradient") {
  for (const int64_t groups : {1, 8}) {
    INFO("groups " << groups);
    const ConvolutionShape shape{2, 1, groups};
    const at::Tensor master = leaf("w", {8, 8 / groups, 3, 3}, at::kFloat);
    const at::Tensor copy = master.detach().to(at::kBFloat16);
    const at::Tensor x = leaf("x", {2, 8, 6, 6}, at::kBFloat16);
    const at::Tensor x2 = x.detach().to(at::kFloat).requires_grad_(),
                     w2 = copy.to(at::kFloat).requires_grad_();
    const at::Tensor y = convolution(x, master, copy, shape);
    const at::Tensor y2 = convolution(x2, w2, {}, shape);
    REQUIRE(y.scalar_type() == at::kBFloat16);
    CHECK(distance(y, y2) < 0.005);
    y.sum().backward();
    y2.sum().backward();
    REQUIRE(master.grad().scalar_type() == at::kFloat);
    CHECK(x.grad().scalar_type() == at::kBFloat16);
    CHECK(distance(master.grad(), w2.grad()) < 0.01);
    CHECK(distance(x.grad(), x2.grad()) < 0.01);
  }
}

TEST_CASE("a depthwise convolution has the values and gradients of ATen's in double") {
  for (const auto& [type, tolerance] : {std::pair(at::kFloat, 1e-6), {at::kDouble, 1e-14}}) {
    for (const int64_t kernel : {3, 5}) {
      for (const int64_t stride : {1, 2}) {
        INFO(type << ", kernel " << kernel << " stride " << stride);
        const ConvolutionShape shape{stride, kernel / 2, 16};
        const at::Tensor x = leaf("x", {3, 16, 9, 8}, type);
        const at::Tensor w = leaf("w", {16, 1, kernel, kernel}, type);
        const at::Tensor x2 = x.detach().to(at::kDouble, false, true).requires_grad_();
        const at::Tensor w2 = w.detach().to(at::kDouble, false, true).requires_grad_();
        const at::Tensor y = convolution(x, w, {}, shape);
        const at::Tensor y2 = at::convolution(x2, w2, {}, {stride, stride},
                                              {kernel / 2, kernel / 2}, {1, 1}, false, {0, 0}, 16);
        CHECK(distance(y, y2) < tolerance);
        const at::Tensor dy = testing::uniform("dy", y2.sizes());
        y.backward(dy.to(type));
        y2.backward(dy);
        CHECK(distance(w.grad(), w2.grad()) < tolerance);
        CHECK(distance(x.grad(), x2.grad()) < tolerance);
      }
    }
  }
}

TEST_CASE("cross-entropy and its gradient equal ATen's times the scale") {
  const at::Tensor logits = leaf("logits", {4, 12}), logits2 = leaf("logits", {4, 12});
  const at::Tensor a = at::tensor({0, 5, 11, 3}, at::kInt);
  const LossResult result = cross_entropy(logits, {a, {}, {}}, 0.1, 0.25);
  const at::Tensor loss = at::cross_entropy_loss(logits2, a.to(at::kLong), {}, 1, -100, 0.1);
  CHECK(result.loss.item<double>() == Approx(loss.item<double>()));
  CHECK(result.loss_sum.item<double>() == Approx(4 * loss.item<double>()));
  (3 * result.loss).backward();
  (3 * loss).backward();
  CHECK(distance(logits.grad(), logits2.grad()) < 1e-7);  // smoothing is rounded to float
  CHECK(result.top1.item<int64_t>() == logits2.argmax(1).eq(a).sum().item<int64_t>());
  CHECK_FALSE(result.sums.requires_grad());
  CHECK(at::equal(result.sums,
                  at::stack({result.loss_sum.view(at::kLong), result.top1, result.top5})));
  CHECK_FALSE(cross_entropy(logits.detach(), {a, {}, {}}, 0.1, 0.25).loss.requires_grad());
}

TEST_CASE("cross-entropy with class weights equals ATen's sum") {
  const at::Tensor logits = leaf("logits", {4, 12}), logits2 = leaf("logits", {4, 12});
  const at::Tensor a = at::tensor({0, 5, 11, 3}, at::kInt);
  const at::Tensor weights = 1.5 + testing::uniform("weights", {12});
  const LossResult result = cross_entropy(logits, {a, {}, {}}, 0.125, 0.25, weights);
  const at::Tensor sum =
      at::cross_entropy_loss(logits2, a.to(at::kLong), weights, at::Reduction::Sum, -100, 0.125);
  CHECK(result.loss_sum.item<double>() == Approx(sum.item<double>()));
  result.loss.backward();
  (0.25 * sum).backward();
  CHECK(distance(logits.grad(), logits2.grad()) < 1e-12);
}

TEST_CASE("binary cross-entropy of mixed labels and its gradient equal ATen's") {
  const at::Tensor logits = leaf("logits", {4, 12}), logits2 = leaf("logits", {4, 12});
  const Labels labels = {at::tensor({0, 5, 11, 3}, at::kInt), at::tensor({3, 5, 0, 1}, at::kInt),
                         at::tensor({0.25, 0.5, 1.0, 0.75}).to(at::kFloat)};
  const at::Tensor weights = 1.5 + testing::uniform("weights", {12});
  const at::Tensor share = labels.lambda.to(at::kDouble).unsqueeze(1);
  const at::Tensor soft = 0.875 * (share * at::one_hot(labels.a.to(at::kLong), 12) +
                                   (1 - share) * at::one_hot(labels.b.to(at::kLong), 12)) +
                          0.125 / 12;
  for (const double threshold : {-1.0, 0.25}) {
    for (const bool sum_classes : {false, true}) {
      INFO("threshold " << threshold << ", sum " << sum_classes);
      const LossResult result =
          binary_cross_entropy(logits, labels, 0.125, 0.25,
                               {.threshold = threshold, .sum_classes = sum_classes}, weights);
      const at::Tensor target = threshold < 0 ? soft : soft.gt(threshold).to(at::kDouble);
      const at::Tensor losses = at::binary_cross_entropy_with_logits(
          logits2, target, soft.matmul(weights).unsqueeze(1), {}, at::Reduction::None);
      const at::Tensor sum = losses.sum() / (sum_classes ? 1.0 : 12.0);
      CHECK(result.loss_sum.item<double>() == Approx(sum.item<double>()));
      CHECK(result.loss.item<double>() == Approx(0.25 * sum.item<double>()));
      CHECK(result.top1.item<int64_t>() == logits.argmax(1).eq(labels.a).sum().item<int64_t>());
      result.loss.backward();
      (0.25 * sum).backward();
      CHECK(distance(logits.grad(), logits2.grad()) < 1e-12);
    }
  }
}
