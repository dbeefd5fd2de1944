// Compares the fused step with the reference executor, for dense convolutions and larger networks.

#include <catch2/catch.hpp>

#include "models/network_builder.h"
#include "tests/models/fused_support.h"

using namespace shoal::models;

namespace {

// Returns a network of dense (not depthwise) convolutions. Their numbers of output channels are not
// multiples of 8.
Network dense_network(Padding padding, int64_t kernel) {
  using shoal::ops::Activation;
  NetworkBuilder b(3, 32, {1e-5, 0.1});
  b.begin_stage("stem");
  int x = b.convolution("stem", kImages, {.out = 9, .kernel = 7, .stride = 2, .padding = padding});
  x = b.norm("stem.norm", x, Activation::relu);
  x = b.max_pool(x, {.kernel = 3, .stride = 2, .padding = 1});
  int stage = 0;
  for (const int64_t stride : {1, 2}) {
    const std::string name = "block" + std::to_string(stage++);
    b.begin_stage(name);
    int shortcut = x;
    // With stride 2, also change the number of channels: LibTorch's 1x1 convolution with stride 2
    // and equal numbers of channels corrupts memory on some processors.
    const int64_t out = stride > 1 ? 20 : 9;
    x = b.convolution(name + ".first", x,
                      {.out = 21, .kernel = kernel, .stride = stride, .padding = padding});
    x = b.norm(name + ".first.norm", x, Activation::silu);
    x = b.convolution(name + ".second", x, {.out = out, .kernel = kernel, .padding = padding});
    Norm norm = b.norm_state(name + ".second.norm", out);
    norm.activation = Activation::relu;
    norm.drop = 0.3;
    norm.mask_layer = b.next_mask_layer();
    if (stride > 1) {
      shortcut = b.convolution(name + ".shortcut", shortcut,
                               {.out = out, .stride = stride, .padding = padding});
      shortcut = b.norm(name + ".shortcut.norm", shortcut, Activation::none);
    }
    x = b.norm(name + ".second.norm", x, norm, shortcut);
  }
  b.begin_stage("last");
  int last = b.convolution("last", x, {.out = 20, .kernel = 3, .padding = padding});
  Norm norm = b.norm_state("last.norm", 20);
  norm.activation = Activation::silu;
  norm.adds_last = true;
  x = b.norm("last.norm", last, norm, x);
  return with_classifier(b, x, "dense");
}

// Returns the network with silu instead of relu and relu6, and without activations after residual
// sums. Where a value is close to 0 or 6, rounding decides on which side of the kink it is.
// Gradients then differ by more than rounding errors.
Network smooth(Network network) {
  using shoal::ops::Activation;
  for (Node& node : network.nodes)
    if (auto* norm = std::get_if<Norm>(&node.operation);
        norm && (norm->activation == Activation::relu || norm->activation == Activation::relu6))
      norm->activation = node.inputs.size() > 1 ? Activation::none : Activation::silu;
  return network;
}

}  // namespace

TEST_CASE("the fused step handles dense convolutions of any kernel size") {
  for (const Padding padding : {Padding::symmetric, Padding::same}) {
    for (const int64_t kernel : {1, 3, 5}) {
      check_equal(dense_network(padding, kernel), {.batch = 3, .size = 45});
      check_equal(dense_network(padding, kernel), {.batch = 2, .size = 54});
    }
  }
  check_bf16(dense_network(Padding::symmetric, 3), {.batch = 4, .size = 61});
}

TEST_CASE("the fused step computes ResNet", "[slow]") {
  check_equal(smooth(named("resnet18", 0.2)), {.batch = 4, .size = 72});
  check_equal(named("resnet18", 0.2), {.batch = 2, .size = 40});
}

TEST_CASE("the fused step computes EfficientNetV2 and ResNet-50", "[slow][wide]") {
  check_equal(named("resnet50"), {.batch = 256, .size = 8});
  check_equal(named("resnet50"), {.batch = 3, .size = 64});
  check_equal(named("resnet50"), {.batch = 3, .size = 64, .frozen_stages = 3});
  check_equal(named("efficientnet_v2_s", 0.2), {.batch = 2, .size = 70});
  check_bf16(named("resnet50"), {.batch = 8, .size = 64});
  check_bf16(named("efficientnet_v2_s", 0.2), {.batch = 4, .size = 64});
}

TEST_CASE("the fused step computes MobileNetV2", "[slow]") {
  check_equal(smooth(named("mobilenet_v2", 0.3)), {.batch = 3, .size = 97});
  check_equal(smooth(named("mobilenet_v2_120d", 0.2)), {.batch = 2, .size = 72});
}

TEST_CASE("the fused step computes MobileNetV3", "[slow]") {
  check_equal(named("mobilenet_v3_small"), {.batch = 4, .size = 64});
}

TEST_CASE("the fused step computes MobileNetV3, also partly frozen or bf16", "[slow][wide]") {
  check_equal(named("mobilenet_v3_large", 0.3), {.batch = 3, .size = 97});
  check_equal(named("mobilenet_v3_large"), {.batch = 4, .size = 64, .frozen_stages = 6});
  check_bf16(named("mobilenet_v3_large", 0.2), {.batch = 8, .size = 64});
}

TEST_CASE("the fused step computes wider models", "[slow][wide]") {
  for (const char* name : {"efficientnet_b3", "efficientnet_b7", "efficientnet_lite4"})
    check_equal(named(name, 0.2), {.batch = 2, .size = 72});
}
