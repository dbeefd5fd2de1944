// Reads files that timm, safetensors and efficientnet_pytorch wrote
// (tests/golden/scripts/make_weight_names.py).

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/support/gunzip.h"
#include "tests/support/program.h"
#include "tests/train/weights/onnx/onnx_evaluator.h"

using namespace shoal;
using Catch::Contains;
using Words = std::vector<std::string>;
using Json = nlohmann::json;
namespace fs = std::filesystem;

namespace {

struct LibraryFile {
  const char *name, *model, *family;
  const char* format;  // as shoal inspect describes it
  const char* used;    // entry that shoal uses; empty: the top level of the file
  size_t entries;
};

constexpr LibraryFile kFiles[] = {
    {"timm_mobilenetv3_small_100.safetensors", "mobilenet_v3_small", "timm", "safetensors", "", 1},
    {"timm_mobilenetv3_small_100.pth", "mobilenet_v3_small", "timm", "torch.save, zip",
     "state_dict_ema", 2},
    {"efficientnet_pytorch_b0.pth", "efficientnet_b0", "efficientnet_pytorch", "torch.save, zip",
     "model_ema", 2},
    {"efficientnet_pytorch_b0_old.pth", "efficientnet_b0", "efficientnet_pytorch",
     "torch.save, before PyTorch 1.6", "", 1},
};

test::Outcome succeeds(const Words& words) {
  auto outcome = test::run_shoal(words);
  INFO(outcome.err);
  REQUIRE(outcome.exit_code == 0);
  return outcome;
}

// Returns one value for each tensor of a model, by torchvision's names. All elements of the tensor
// must have this value.
std::map<std::string, double> golden_values(const std::string& model) {
  std::map<std::string, double> values;
  std::ifstream file(SHOAL_SOURCE_DIR "/tests/golden/weight_values.txt");
  for (std::string of, name, value; file >> of >> name >> value;)
    if (of == model) values[name] = std::stod(value);
  return values;
}

// Whether a tensor has elements, and all of them are `value`.
bool is_filled_with(const test::OnnxValue& tensor, double value) {
  return !tensor.values.empty() && std::ranges::all_of(tensor.values, [&](double each) {
    return each == Approx(value).epsilon(1e-6);
  });
}

}  // namespace

TEST_CASE("files that timm, safetensors and efficientnet_pytorch wrote are read") {
  const test::TemporaryDirectory directory;
  for (const LibraryFile& golden : kFiles) {
    INFO(golden.name);
    const std::string file = (directory.path() / golden.name).string(),
                      onnx = (directory.path() / "model.onnx").string();
    const auto content =
        test::gunzip(SHOAL_SOURCE_DIR "/tests/golden/weights/" + std::string(golden.name) + ".gz");
    std::ofstream(file, std::ios::binary).write(content.data(), std::ssize(content));

    const Json found = Json::parse(succeeds({"inspect", file, "--json"}).out);
    CHECK(found["format"] == golden.format);
    CHECK(found["model"]["name"] == golden.model);
    CHECK(found["model"]["names"] == golden.family);
    CHECK(found["model"]["classes"] == 1000);
    CHECK(found["model"]["misfits"].empty());
    CHECK(found["model"]["unused"].empty());
    CHECK(found["entries"].size() == golden.entries);
    CHECK(found["used"] == golden.used);

    const auto exported = succeeds({"export", "--weights", file, "-o", onnx});
    CHECK_THAT(exported.err, Contains(golden.model) && Contains(golden.family));
    const test::OnnxModel model = test::parse_onnx(test::read_text(onnx));
    CHECK(model.metadata.at("model") == golden.model);
    const auto values = golden_values(golden.model);
    CHECK(values.size() > 150);
    for (const auto& [name, value] : values) {
      INFO(name << " " << value);
      CHECK(is_filled_with(model.initializers.at(name), value));
    }
    fs::remove(onnx);
  }
}

TEST_CASE("--weights-entry selects the weights that timm's training did not average") {
  const test::TemporaryDirectory directory;
  const std::string file = (directory.path() / "last.pth.tar").string(),
                    onnx = (directory.path() / "model.onnx").string();
  const auto content =
      test::gunzip(SHOAL_SOURCE_DIR "/tests/golden/weights/timm_mobilenetv3_small_100.pth.gz");
  std::ofstream(file, std::ios::binary).write(content.data(), std::ssize(content));
  const Json values = Json::parse(succeeds({"inspect", file, "--json"}).out)["values"];
  CHECK(values["arch"] == "mobilenetv3_small_100");
  CHECK(values["epoch"] == "3");
  CHECK(values["metric"] == "41.5");

  succeeds({"export", "--weights", file, "--weights-entry", "state_dict", "-o", onnx});
  const test::OnnxModel model = test::parse_onnx(test::read_text(onnx));
  const auto averaged = golden_values("mobilenet_v3_small");
  for (const char* name : {"features.0.0.weight", "classifier.3.bias"})
    CHECK(is_filled_with(model.initializers.at(name), -averaged.at(name)));
}
