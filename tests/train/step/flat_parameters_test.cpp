#include "train/step/state/flat_parameters.h"

#include <ATen/ops/equal.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <map>

#include "dist/health/verify.h"
#include "tests/train/step/toy_classifier.h"

namespace {

using shoal::dist::hash;
using shoal::train::FlatParameters;
using shoal::train::testing::numbers;
using shoal::train::testing::ToyClassifier;

}  // namespace

TEST_CASE("values survive the move into the flat buffer and 4-D weights become channels-last") {
  ToyClassifier model, original;
  const FlatParameters flat(model, {});
  CHECK(at::equal(model.conv, original.conv));
  CHECK(at::equal(model.depthwise, original.depthwise));
  CHECK(at::equal(model.fc_weight, original.fc_weight));
  CHECK(at::equal(model.bn_bias, original.bn_bias));
  CHECK(model.conv.strides() == at::IntArrayRef{27, 1, 9, 3});
  CHECK(model.conv.is_contiguous(at::MemoryFormat::ChannelsLast));
  CHECK(model.depthwise.is_contiguous(at::MemoryFormat::ChannelsLast));
  CHECK(model.fc_weight.is_contiguous());
  CHECK(flat.names().front() == "conv.weight");
  // The model's tensors are views of the buffer.
  CHECK(model.conv.const_data_ptr() == flat.flat().const_data_ptr());
  CHECK(model.conv.requires_grad());
  CHECK(model.conv.is_leaf());
}

TEST_CASE("segments start at multiples of sixteen and only weights decay") {
  ToyClassifier model;
  shoal::train::FlatOptions options;
  options.weight_decay = 0.25;
  const FlatParameters flat(model, options);
  const auto& segments = flat.segments();
  REQUIRE(segments.size() == 6);
  for (size_t i = 0; i < segments.size(); ++i) {
    CHECK(segments[i].offset % 16 == 0);
    CHECK(segments[i].length == flat.tensors()[i].numel());
    CHECK(segments[i].weight_decay == (flat.tensors()[i].dim() > 1 ? 0.25f : 0.0f));
  }
  CHECK(flat.total() == 144 + 48 + 16 + 16 + 48 + 16);
  CHECK(std::memcmp(flat.device_segments(), segments.data(),
                    segments.size() * sizeof(segments[0])) == 0);
}

TEST_CASE("backward adds to the flat gradients each time it runs") {
  ToyClassifier model;
  FlatParameters flat(model, {});
  for (int pass = 1; pass <= 2; ++pass) {
    model.forward({}, {}).backward();
    // Each backward pass adds the parameters to the gradients, because the loss is
    // Σ parameter² / 2. The padding between parameters, and between gradients, is zero.
    CHECK(at::allclose(flat.gradients(), flat.flat().mul(pass)));
  }
  CHECK(model.conv.grad().const_data_ptr() == flat.gradients().const_data_ptr());
  flat.zero_gradients();
  CHECK(model.fc_bias.grad().abs().sum().item<double>() == 0);
}

TEST_CASE("parameters can be float64, with the values of the float32 ones") {
  ToyClassifier model, original;
  const FlatParameters flat(model, {.type = at::kDouble});
  CHECK(model.conv.scalar_type() == at::kDouble);
  CHECK(at::equal(model.conv, original.conv.to(at::kDouble)));
  model.forward({}, {}).backward();
  CHECK(model.conv.grad().scalar_type() == at::kDouble);
  CHECK(at::allclose(flat.gradients(), flat.flat()));
}

TEST_CASE("only layers that compute in lower precision get a copy") {
  ToyClassifier model;
  FlatParameters flat(model, {.copy_type = at::kBFloat16});
  CHECK(at::equal(model.conv_copy, model.conv.to(at::kBFloat16)));
  CHECK(model.conv_copy.strides() == model.conv.strides());
  CHECK(at::equal(model.fc_copy, model.fc_weight.to(at::kBFloat16)));
  {
    at::NoGradGuard no_grad;
    model.conv.add_(1);
  }
  flat.refresh_copies();
  CHECK(at::equal(model.conv_copy, model.conv.to(at::kBFloat16)));

  ToyClassifier plain;
  const FlatParameters without(plain, {});
  CHECK_FALSE(plain.conv_copy.defined());
}

TEST_CASE("parameters are saved as contiguous copies and loaded by name") {
  ToyClassifier model, original;
  FlatParameters flat(model, {});
  const at::Tensor copy = flat.contiguous_copy("conv.weight");
  CHECK(copy.is_contiguous());
  CHECK(copy.storage().nbytes() == 135 * 4);
  CHECK_FALSE(copy.requires_grad());
  CHECK(at::equal(copy, original.conv));
  const uint64_t before = hash({flat.flat()});
  const at::Tensor other = numbers({5, 3, 3, 3}, 4).to(at::kDouble);
  flat.load("conv.weight", other);
  CHECK(at::equal(model.conv, other.to(at::kFloat)));
  CHECK(hash({flat.flat()}) != before);
  flat.load("conv.weight", copy);
  CHECK(hash({flat.flat()}) == before);

  CHECK_THROWS_WITH(flat.load("fc.bias", numbers({3}, 4)),
                    Catch::Contains("fc.bias") && Catch::Contains("[7]") && Catch::Contains("[3]"));
  CHECK_THROWS_WITH(flat.load("head.bias", numbers({3}, 4)), Catch::Contains("head.bias"));
}

TEST_CASE("the learning rate falls by block towards the input, and the classifier has its own") {
  shoal::models::ModelOptions options;
  options.name = "resnet18";  // the stem, 8 blocks, the classifier
  const auto model = shoal::models::create(options);
  const FlatParameters flat(*model, {.layer_decay = 0.5, .head_lr_scale = 10});
  std::map<std::string, float> scales;
  for (size_t i = 0; i < flat.names().size(); ++i)
    scales[flat.names()[i]] = flat.segments()[i].lr_scale;
  CHECK(scales.at("fc.weight") == 10);
  CHECK(scales.at("fc.bias") == 10);
  CHECK(scales.at("layer4.1.conv2.weight") == 0.5f);
  CHECK(scales.at("layer4.0.downsample.1.bias") == 0.25f);
  CHECK(scales.at("layer1.0.bn1.weight") == 0.00390625f);
  CHECK(scales.at("conv1.weight") == 0.001953125f);
}
