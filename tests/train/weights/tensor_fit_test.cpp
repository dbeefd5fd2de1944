#include "train/weights/tensor_fit.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/train/weights/golden_names.h"

using namespace shoal::train;
using Catch::Contains;

namespace {

const TensorShapes& b0() {
  static const TensorShapes model = golden_model("efficientnet_b0");
  return model;
}

Fit fit(const TensorShapes& file) {
  return fit_tensors(b0(), "classifier.1", file);
}

}  // namespace

TEST_CASE("the family of names is found by the names") {
  CHECK(fit(b0()).family->name == std::string("torchvision"));
  for (const char* family : {"timm", "efficientnet_pytorch"}) {
    const Fit found = fit(in_family(b0(), family));
    CHECK(found.family->name == std::string(family));
    CHECK(found.complete());
    CHECK(found.unused.empty());
    CHECK(found.share() == 1);
    CHECK(found.taken.size() == b0().size());
  }
}

TEST_CASE("a classifier with another number of classes fits, one with other inputs does not") {
  TensorShapes file = b0();
  for (auto& tensor : file)
    if (tensor.name.starts_with("classifier.")) tensor.sizes[0] = 7;
  CHECK(fit(file).complete());
  for (auto& tensor : file)
    if (tensor.name == "classifier.1.weight") tensor.sizes[1] = 7;
  CHECK_FALSE(fit(file).complete());
}

TEST_CASE("missing tensors, other shapes and unused tensors are listed with both names") {
  TensorShapes file = in_family(b0(), "timm");
  std::erase_if(file, [](const auto& tensor) { return tensor.name == "conv_head.weight"; });
  file.push_back({"extra", {3}});
  file.push_back({"n_averaged", {}});
  for (auto& tensor : file)
    if (tensor.name == "conv_stem.weight") tensor.sizes = {32, 1, 3, 3};
  const Fit found = fit(file);
  REQUIRE(found.misfits.size() == 2);
  CHECK_THAT(found.misfits[0].sentence(),
             Contains("features.0.0.weight (conv_stem.weight)") && Contains("32×1×3×3"));
  CHECK_THAT(found.misfits[1].sentence(),
             Contains("features.8.0.weight (conv_head.weight)") && Contains("missing"));
  CHECK(found.unused == std::vector<std::string>{"extra"});
  CHECK(found.taken.size() == b0().size() - 2);
}

TEST_CASE("a list in a message is short") {
  CHECK(first_of({"a", "b"}) == "a, b");
  CHECK(first_of({"a", "b", "c", "d", "e"}) == "a, b, c and 2 more");
  CHECK(first_of({std::string(10'000, 'x')}).size() < 400);
  CHECK(shape_text({}) == "scalar");
}
