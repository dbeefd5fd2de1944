// Converts weights with other programs' tensor names (tests/golden/scripts/make_weight_names.py).
#include "train/weights/adapt_weights.h"

#include <ATen/ops/full.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <iomanip>
#include <set>
#include <sstream>

#include "base/error.h"
#include "models/model.h"
#include "tests/models/formula.h"
#include "tests/train/weights/golden_names.h"
#include "train/weights/weights_file.h"

using namespace shoal;
using namespace shoal::train;
using Catch::Contains;

namespace {

// Weights of a model in which the n-th tensor contains n.
NamedTensors numbered(const std::string& model, int64_t classes) {
  NamedTensors tensors;
  for (const auto& [name, sizes] : shapes_of(default_network(model, classes)))
    tensors.emplace_back(name, at::full(sizes, static_cast<double>(tensors.size())));
  return tensors;
}

CheckpointData file_of(NamedTensors tensors, const std::string& their_model = "weights.pth") {
  CheckpointData data;
  data.model = std::move(tensors);
  data.text[kTheirModel] = their_model;
  return data;
}

CheckpointData b0_in(const std::string& family, const std::string& their_model = "weights.pth") {
  const GoldenNames golden = golden_names(family);
  NamedTensors tensors = numbered("efficientnet_b0", 5);
  for (auto& [name, value] : tensors) name = golden.names.at(name);
  return file_of(std::move(tensors), their_model);
}

// Checks that the n-th tensor contains n, or n + shift if it is a running variance.
void check_numbered(const NamedTensors& tensors, double shift) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    const auto& [name, value] = tensors[i];
    INFO(name);
    const double wanted = static_cast<double>(i) + (name.ends_with("running_var") ? shift : 0);
    CHECK(value.flatten()[0].item<double>() == Approx(wanted).epsilon(1e-12));
  }
}

std::string refusal(const CheckpointData& data, const std::string& model, bool partial = false) {
  try {
    adapt_weights(data, default_network(model), partial);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("names and shapes of EfficientNets and MobileNets are those of other programs") {
  for (const NameFamily& family : name_families()) {
    if (!family.rename) continue;
    const auto hashes = golden_names(family.name).hashes;
    REQUIRE(hashes.size() == (family.name == std::string("timm") ? 18 : 8));
    for (const auto& [model, hash] : hashes) {
      INFO(family.name << " " << model);
      const TensorShapes ours = shapes_of(default_network(model));
      const std::vector<std::string> theirs = names_in(family, ours);
      std::set<std::string> lines;
      for (size_t i = 0; i < ours.size(); ++i) {
        std::string shape;
        for (const int64_t size : ours[i].sizes)
          shape += (shape.empty() ? "" : ",") + std::to_string(size);
        lines.insert(ours[i].name + " " + theirs[i] + " [" + shape + "]\n");
      }
      std::string text;
      for (const std::string& line : lines) text += line;
      std::ostringstream hex;
      hex << std::hex << std::setw(16) << std::setfill('0') << models::testing::fnv(text);
      CHECK(hex.str() == hash);
    }
  }
}

TEST_CASE("a linear layer that another program stores as a convolution is taken") {
  const models::Network model = default_network("mobilenet_v3_small");
  const TensorShapes ours = shapes_of(model);
  const std::vector<std::string> theirs = names_in(name_families()[1], ours);
  CheckpointData data;
  for (size_t i = 0; i < ours.size(); ++i) {
    std::vector<int64_t> sizes = ours[i].sizes;
    if (theirs[i] == "conv_head.weight") sizes.insert(sizes.end(), {1, 1});
    data.model.emplace_back(theirs[i], at::full(sizes, static_cast<double>(i)));
  }
  const AdaptedWeights adapted = adapt_weights(data, model);
  REQUIRE(adapted.tensors.size() == 244);
  CHECK_THAT(adapted.note, Contains("timm") && Contains("1e-05") && Contains("0.001"));
  for (size_t i = 0; i < ours.size(); ++i) {
    const auto& [name, value] = adapted.tensors[i];
    INFO(name);
    CHECK(name == ours[i].name);
    CHECK(value.sizes().vec() == ours[i].sizes);
  }
}

TEST_CASE("weights in other names get the model's names, and variances its batch norm's eps") {
  const models::Network b0 = default_network("efficientnet_b0");
  const AdaptedWeights timm = adapt_weights(b0_in("timm"), b0);
  CHECK(timm.tensors.size() == 360);
  CHECK_THAT(timm.note, Contains("timm") && !Contains("eps"));
  CHECK(timm.warnings.empty());
  check_numbered(timm.tensors, 0);

  const AdaptedWeights other = adapt_weights(b0_in("efficientnet_pytorch"), b0);
  CHECK_THAT(other.note,
             Contains("efficientnet_pytorch") && Contains("0.001") && Contains("1e-05"));
  check_numbered(other.tensors, 1e-3 - 1e-5);
  REQUIRE(other.warnings.size() == 1);
  CHECK_THAT(other.warnings[0],
             (Contains("TensorFlow") && Contains("symmetrically")) && Contains("--val-size 225"));

  const AdaptedWeights tensorflow = adapt_weights(b0_in("timm", "tf_efficientnet_b0_ns"), b0);
  check_numbered(tensorflow.tensors, 1e-3 - 1e-5);
  REQUIRE(tensorflow.warnings.size() == 1);
  CHECK_THAT(tensorflow.warnings[0], Contains("tf_efficientnet_b0_ns"));
}

TEST_CASE("weights of EfficientNet-Lite need no conversion") {
  const models::Network lite = default_network("efficientnet_lite0", 5);
  NamedTensors tensors = numbered("efficientnet_lite0", 5);
  const std::vector<std::string> names = names_in(name_families()[2], shapes_of(lite));
  REQUIRE(names.size() == tensors.size());
  for (size_t i = 0; i < names.size(); ++i) tensors[i].first = names[i];
  const AdaptedWeights adapted = adapt_weights(file_of(tensors), lite);
  CHECK(adapted.note == "in efficientnet_pytorch's names");
  CHECK(adapted.warnings.empty());
  check_numbered(adapted.tensors, 0);
}

TEST_CASE("weights of MobileNetV2 with timm's names need no conversion") {
  const models::Network mobile = default_network("mobilenet_v2_050", 5);
  NamedTensors tensors = numbered("mobilenet_v2_050", 5);
  const std::vector<std::string> names = names_in(name_families()[1], shapes_of(mobile));
  REQUIRE(names.size() == tensors.size());
  for (size_t i = 0; i < names.size(); ++i) tensors[i].first = names[i];
  const CheckpointData file = file_of(tensors, "mobilenetv2_050");
  CHECK(model_like(file)->name == "mobilenet_v2_050");
  const AdaptedWeights adapted = adapt_weights(file, mobile);
  CHECK(adapted.note == "in timm's names");
  CHECK(adapted.warnings.empty());
  check_numbered(adapted.tensors, 0);
}

TEST_CASE("Lite weights with timm's names are TensorFlow's unless called efficientnet_lite0") {
  const models::Network lite = default_network("efficientnet_lite1", 5);
  const NameFamily& timm = *std::ranges::find_if(
      name_families(), [](const NameFamily& family) { return std::string(family.name) == "timm"; });
  NamedTensors tensors = numbered("efficientnet_lite1", 5);
  const std::vector<std::string> names = names_in(timm, shapes_of(lite));
  for (size_t i = 0; i < names.size(); ++i) tensors[i].first = names[i];
  const AdaptedWeights adapted = adapt_weights(file_of(tensors, "weights.pth"), lite);
  CHECK(adapted.note == "in timm's names");
  CHECK(adapted.warnings.empty());
  check_numbered(adapted.tensors, 0);
  check_numbered(adapt_weights(file_of(tensors, "efficientnet_lite0"), lite).tensors, 1e-5 - 1e-3);
}

TEST_CASE("weights with additional layers in blocks are refused, even if no tensor is missing") {
  NamedTensors more = numbered("resnet18", 10);
  more.emplace_back("layer1.0.se.fc1.weight", at::full({2}, 1));
  CHECK_THAT(refusal(file_of(more), "resnet18"), Contains("does not have layer1.0.se.fc1.weight"));
  CHECK(refusal(file_of(more), "resnet18", /*partial=*/true).empty());
  more = numbered("resnet18", 10);
  for (int i = 0; i < 8; ++i)  // accepted: more heads, and a teacher network
    for (const std::string name : {"heads.", "teacher.layer1."})
      more.emplace_back(name + std::to_string(i) + ".weight", at::full({2}, 1));
  CHECK(refusal(file_of(more), "resnet18").empty());
}

TEST_CASE("weights of another model are refused with the first differences and the likely model") {
  CHECK_THAT(refusal(file_of(numbered("efficientnet_b2", 10)), "efficientnet_b0"),
             Contains("not weights of --model efficientnet_b0") && Contains("has the shape") &&
                 Contains("look like efficientnet_b2") && Contains("more"));
  CHECK_THAT(refusal(file_of(numbered("resnet34", 10)), "resnet18"),
             Contains("look like resnet34"));
  CHECK_THAT(refusal(b0_in("timm"), "resnet18"), Contains("look like efficientnet_b0"));
  CHECK_THAT(refusal(file_of({{"net.weight", at::full({2}, 1)}}), "resnet18"),
             Contains("no model that shoal knows"));
  NamedTensors cut = numbered("resnet18", 10);
  cut.erase(cut.begin());
  CHECK_THAT(refusal(file_of(cut), "resnet18"), Contains("conv1.weight is missing"));
}

TEST_CASE("with --load-partial the tensors that fit are taken") {
  NamedTensors changed = numbered("resnet18", 10);
  changed[0].second = at::full({64, 1, 7, 7}, 1.0);
  changed.erase(changed.begin() + 1);
  const AdaptedWeights adapted = adapt_weights(file_of(changed), default_network("resnet18"), true);
  CHECK(adapted.tensors.size() == 120);
  CHECK(adapted.fit.misfits.size() == 2);
  for (const auto& [name, value] : adapted.tensors) CHECK(name != "conv1.weight");
  CHECK_FALSE(refusal(b0_in("timm"), "resnet18", true).empty());  // nothing fits
}

TEST_CASE("tensors that the model does not have are named") {
  NamedTensors more = numbered("resnet18", 10);
  more.emplace_back("fc2.weight", at::full({2}, 1));
  const auto warnings = adapt_weights(file_of(more), default_network("resnet18")).warnings;
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0], Contains("ignored 1") && Contains("fc2.weight"));
}

TEST_CASE("the model of a file is recognized by names and shapes") {
  for (const char* name : {"efficientnet_b0", "efficientnet_b7", "mobilenet_v2",
                           "mobilenet_v2_120d", "resnet18", "resnet152"}) {
    const auto known = model_like(file_of(numbered(name, 7)));
    REQUIRE(known);
    CHECK(known->name == name);
    CHECK(known->fit.complete());
  }
  CHECK(model_like(b0_in("efficientnet_pytorch"))->name == "efficientnet_b0");
  CHECK_FALSE(model_like(file_of({{"net.weight", at::full({2}, 1)}})));
}

TEST_CASE("the first tensor with values that are not finite is named") {
  NamedTensors tensors = {{"a", at::full({2}, 1)}, {"b", at::full({2}, 1.0)}};
  CHECK(nonfinite_note(tensors).empty());
  for (const double value : {NAN, -INFINITY}) {
    tensors[1].second.data_ptr<float>()[1] = static_cast<float>(value);
    CHECK_THAT(nonfinite_note(tensors), Catch::StartsWith("b "));
  }
}
