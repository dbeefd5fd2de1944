// Compares the fused step with the reference executor: logits, gradients and pending statistics.

#include "models/fused_step.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <catch2/catch.hpp>

#include "models/catalogue.h"
#include "models/network_builder.h"
#include "models/program/plan.h"
#include "tests/models/fused_support.h"

using namespace shoal::models;

namespace {

// A network that uses all kernels except dense and max_pool. Its channel counts are not multiples
// of the vector length.
Network odd_network(Padding padding, shoal::ops::Activation activation) {
  NetworkBuilder b(1, 32, {1e-5, 0.1});
  b.begin_stage("stem");
  int x = b.convolution("stem", kImages, {.out = 7, .kernel = 5, .stride = 2, .padding = padding});
  x = b.norm("stem.norm", x, activation);
  int stage = 0;
  for (const int64_t kernel : {3, 5}) {
    for (const int64_t stride : {1, 2}) {
      const std::string name = "block" + std::to_string(stage++);
      b.begin_stage(name);
      x = b.convolution(name + ".depthwise", x,
                        {.out = b.shape(x).channels,
                         .kernel = kernel,
                         .stride = stride,
                         .groups = b.shape(x).channels,
                         .padding = padding});
      x = b.norm(name + ".norm", x, activation);
      if (stride == 2) x = b.squeeze_excite(name + ".squeeze", x, 3);
      x = b.convolution(name + ".project", x, {.out = 5});
      x = b.norm(name + ".project.norm", x, shoal::ops::Activation::none);
      x = b.convolution(name + ".expand", x, {.out = 19});
      x = b.norm(name + ".expand.norm", x, activation);
    }
  }
  return with_classifier(b, x, "odd");
}

}  // namespace

TEST_CASE("the fused step computes what the reference does", "[slow]") {
  check_equal(named("efficientnet_b0"), {.batch = 4, .size = 64});
  check_equal(named("efficientnet_b0"), {.batch = 8, .size = 33});
  check_equal(named("efficientnet_lite0"), {.batch = 4, .size = 75});
}

TEST_CASE("the fused step handles single images, dropout and stochastic depth", "[slow]") {
  check_equal(named("efficientnet_b0", 0.4), {.batch = 1, .size = 97});
  check_equal(named("efficientnet_b0", 0.4), {.batch = 6, .size = 50});
  check_equal(named("efficientnet_lite1", 0.4), {.batch = 3, .size = 72});
}

TEST_CASE("in bfloat16, the fused step is about as exact as the reference", "[slow]") {
  check_bf16(named("efficientnet_b0"), {.batch = 8, .size = 64});
  check_bf16(named("efficientnet_b0", 0.2), {.batch = 6, .size = 75, .frozen_stages = 2});
  check_bf16(named("efficientnet_lite0"), {.batch = 4, .size = 97, .micro_batches = 2});
}

TEST_CASE("the fused evaluation computes what the reference does, for each image alone") {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    const Network network = named("efficientnet_b0", 0.2);
    Executor reference(network, 1, Kernels::reference), fused(network, 1, Kernels::fused);
    const at::NoGradGuard no_grad;
    for (Executor* model : {&reference, &fused}) {
      fill(*model);
      model->train(false);
    }
    const at::Tensor images = at::randn({5, 3, 70, 64}, at::detail::createCPUGenerator(5)).to(type);
    const at::Tensor logits = fused.forward(images, {});
    const double limit = type == at::kFloat ? 1e-5 : 0.03;
    CHECK(apart(logits, reference.forward(images.to(at::kFloat), {}), 0) < limit);
    for (int64_t i = 0; i < images.size(0); ++i)
      CHECK(at::equal(fused.forward(images.slice(0, i, i + 1), {})[0], logits[i]));
    for (size_t i = 0; i < fused.batch_norms().size(); ++i)
      CHECK(at::equal(*fused.batch_norms()[i].pending, *reference.batch_norms()[i].pending));
  }
}

TEST_CASE("the fused step handles any number of channels") {
  using shoal::ops::Activation;
  for (const Padding padding : {Padding::symmetric, Padding::same})
    for (const Activation activation :
         {Activation::silu, Activation::relu6, Activation::relu, Activation::hard_swish})
      check_equal(odd_network(padding, activation), {.batch = 3, .size = 41});
  check_equal(odd_network(Padding::same, Activation::silu), {.batch = 2, .size = 30});
}

TEST_CASE("the fused step leaves frozen layers alone", "[slow]") {
  check_equal(named("efficientnet_b0"), {.batch = 4, .size = 64, .frozen_stages = 1});
  check_equal(named("efficientnet_b0", 0.2), {.batch = 4, .size = 64, .frozen_stages = 4});
  check_equal(named("efficientnet_b0"), {.batch = 4, .size = 64, .frozen_stages = 9});
  check_equal(named("efficientnet_b0"), {.batch = 4, .size = 64, .freeze_norms = true});
  check_equal(named("efficientnet_b0"), {.batch = 4, .size = 64, .only = "features.3.1.block.2"});
  check_equal(named("efficientnet_lite0"),
              {.batch = 4, .size = 64, .frozen_stages = 3, .freeze_norms = true});
}

TEST_CASE("the fused step adds the gradients of micro-batches of different sizes", "[slow]") {
  check_equal(named("efficientnet_b0", 0.2), {.batch = 4, .size = 64, .micro_batches = 3});
}

TEST_CASE("the fused step writes gradients in place and completes each of them once", "[slow]") {
  for (const int64_t micro_batches : {1, 2}) {
    const Case c{.batch = 4, .size = 64, .micro_batches = micro_batches, .in_place = true};
    check_equal(named("resnet18"), c);
    check_equal(named("efficientnet_b0", 0.2), c);
  }
  check_equal(named("efficientnet_v2_s"),
              {.batch = 4, .size = 64, .frozen_stages = 3, .micro_batches = 2, .in_place = true});
}

TEST_CASE("the fused step repeats bit for bit", "[slow]") {
  const Network network = named("efficientnet_b0", 0.2);
  const int threads = at::get_num_threads();
  for (const int count : {1, 3}) {
    at::set_num_threads(count);
    const Case c{.batch = 5, .size = 64};
    const Result first = compute(network, c, Kernels::fused, at::kFloat);
    const Result second = compute(network, c, Kernels::fused, at::kFloat);
    CHECK(at::equal(first.logits, second.logits));
    for (size_t i = 0; i < first.gradients.size(); ++i)
      CHECK(at::equal(first.gradients[i], second.gradients[i]));
    const Difference d = difference(first, compute(network, c, Kernels::reference, at::kDouble));
    CHECK(d.gradients < 1e-3);
  }
  at::set_num_threads(threads);
}

TEST_CASE("the first layer without a fused kernel is named") {
  NetworkBuilder b(3, 32, {1e-5, 0.1});
  b.begin_stage("all");
  int x = b.norm("norm", b.convolution("stem", kImages, {.out = 8}), shoal::ops::Activation::relu);
  x = b.convolution("grouped", x, {.out = 8, .kernel = 3, .groups = 2});
  x = b.norm("grouped.norm", x, shoal::ops::Activation::relu);
  b.linear("fc", b.pooled_features(x, 0), 4, LinearInit::by_inputs);
  const Network network = b.finish({});
  CHECK_THAT(fused_obstacle(network), Catch::Contains("'grouped'"));
  CHECK_THROWS_AS(Executor(network, 0, Kernels::fused), std::invalid_argument);
  CHECK_NOTHROW(Executor(network, 0, Kernels::automatic));
  for (const std::string& name : names()) CHECK(fused_obstacle(named(name)).empty());
}

TEST_CASE("what a convolution reads in backward and what it writes do not share memory") {
  const auto end_of = [](const PlannedNode& p, Place begin, int64_t images) {
    return begin + images * p.height * p.width * shoal::ops::fused::padded(p.channels);
  };
  for (const std::string& name : names()) {
    const Network network = named(name);
    for (const int64_t size : {8, 32, 64, 75, 224}) {
      const StepShape shape{4, size, size, std::vector<bool>(network.parameters.size(), true)};
      const Plan plan = plan_step(network, shape);
      const auto node = [&](int i) -> const PlannedNode& {
        return plan.nodes[static_cast<size_t>(i)];
      };
      for (const PlannedNode& p : plan.nodes) {
        // Skip nodes that are not convolutions, and the convolution that reads the images.
        if (p.next_norm < 0 || p.source < 0) continue;
        const PlannedNode &read = node(p.next_norm),
                          &written = node(p.norm < 0 ? p.source : p.norm);
        const bool in_place = p.norm < 0 && read.skip == p.source;
        if (read.gradient < 0 || written.gradient < 0 || in_place) continue;
        CAPTURE(name, size, p.next_norm);
        CHECK((end_of(read, read.gradient, 4) <= written.gradient ||
               end_of(written, written.gradient, 4) <= read.gradient));
      }
    }
  }
}

TEST_CASE("only the last forward of the fused step can be differentiated") {
  const Network network = named("efficientnet_b0");
  Executor model(network, 1, Kernels::fused);
  const at::Tensor images = at::randn({2, 3, 64, 64}, at::detail::createCPUGenerator(6));
  const at::Tensor first = model.forward(images, {});
  const at::Tensor second = model.forward(images, {});
  CHECK_THROWS_AS(first.sum().backward(), std::logic_error);
  CHECK_NOTHROW(second.sum().backward());
}
