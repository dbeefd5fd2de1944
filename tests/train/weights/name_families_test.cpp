// Compares the names of tensors with those of real networks
// (tests/golden/scripts/make_weight_names.py).
#include "train/weights/name_families.h"

#include <catch2/catch.hpp>

#include "tests/train/weights/golden_names.h"

using namespace shoal;
using namespace shoal::train;
using Catch::Contains;

TEST_CASE(
    "the names of all tensors of an EfficientNet are those of timm and efficientnet_pytorch") {
  const TensorShapes model = golden_model("efficientnet_b0");
  REQUIRE(model.size() == 360);
  for (const NameFamily& family : name_families()) {
    if (!family.rename) continue;
    const GoldenNames golden = golden_names(family.name);
    REQUIRE(golden.names.size() == model.size());
    const std::vector<std::string> names = names_in(family, model);
    REQUIRE(names.size() == model.size());
    for (size_t i = 0; i < model.size(); ++i) CHECK(names[i] == golden.names.at(model[i].name));
  }
}

TEST_CASE("a ResNet has only torchvision's names") {
  const TensorShapes model = golden_model("resnet18");
  for (const NameFamily& family : name_families()) {
    const std::vector<std::string> names = names_in(family, model);
    CHECK(names.size() == (family.rename ? 0 : model.size()));
  }
}

TEST_CASE("blocks without squeeze-excite, as in EfficientNet-Lite, have names too") {
  const TensorShapes lite = {{"features.0.0.weight", {}},
                             {"features.1.0.block.0.0.weight", {}},
                             {"features.1.0.block.1.0.weight", {}},
                             {"features.2.0.block.0.0.weight", {}},
                             {"features.2.0.block.1.1.bias", {}},
                             {"features.2.0.block.2.0.weight", {}},
                             {"classifier.1.weight", {}}};
  CHECK(names_in(name_families()[1], lite) ==
        std::vector<std::string>{"conv_stem.weight", "blocks.0.0.conv_dw.weight",
                                 "blocks.0.0.conv_pw.weight", "blocks.1.0.conv_pw.weight",
                                 "blocks.1.0.bn2.bias", "blocks.1.0.conv_pwl.weight",
                                 "classifier.weight"});
  CHECK(names_in(name_families()[2], lite) ==
        std::vector<std::string>{"_conv_stem.weight", "_blocks.0._depthwise_conv.weight",
                                 "_blocks.0._project_conv.weight", "_blocks.1._expand_conv.weight",
                                 "_blocks.1._bn1.bias", "_blocks.1._project_conv.weight",
                                 "_fc.weight"});
}

TEST_CASE("MobileNetV2 has names in timm, but not in efficientnet_pytorch") {
  const TensorShapes mobile = {{"features.0.0.weight", {}},
                               {"features.1.conv.0.0.weight", {32, 1, 3, 3}},
                               {"features.1.conv.1.weight", {16, 32, 1, 1}},
                               {"features.1.conv.2.bias", {16}},
                               {"features.2.conv.0.0.weight", {96, 16, 1, 1}},
                               {"features.2.conv.1.1.weight", {96}},
                               {"features.2.conv.2.weight", {24, 96, 1, 1}},
                               {"features.2.conv.3.running_var", {24}},
                               {"features.3.conv.0.0.weight", {144, 24, 1, 1}},
                               {"features.3.conv.2.weight", {24, 144, 1, 1}},
                               {"features.4.1.weight", {1280}},
                               {"classifier.1.weight", {}}};
  CHECK(names_in(name_families()[1], mobile) ==
        std::vector<std::string>{
            "conv_stem.weight", "blocks.0.0.conv_dw.weight", "blocks.0.0.conv_pw.weight",
            "blocks.0.0.bn2.bias", "blocks.1.0.conv_pw.weight", "blocks.1.0.bn2.weight",
            "blocks.1.0.conv_pwl.weight", "blocks.1.0.bn3.running_var", "blocks.1.1.conv_pw.weight",
            "blocks.1.1.conv_pwl.weight", "bn2.weight", "classifier.weight"});
  CHECK(names_in(name_families()[2], mobile).empty());
}

TEST_CASE("prefixes of wrappers are removed in any combination, unless names become equal") {
  for (const char* name : {"fc.weight", "module.fc.weight", "model.fc.weight",
                           "_orig_mod.module.fc.weight", "module.model._orig_mod.fc.weight"})
    CHECK(without_wrappers(name) == "fc.weight");
  CHECK(without_wrappers("models.fc") == "models.fc");
  std::vector<std::pair<std::string, int>> twice = {{"model.a", 1}, {"module.a", 2}};
  CHECK_THROWS_WITH(remove_wrappers(twice), Contains("'a' twice"));
}
