// Reads checkpoints with the layout of PyTorch's imagenet example
// (tests/golden/scripts/make_weight_names.py).
#include "train/checkpoint/imagenet_example.h"

#include <catch2/catch.hpp>
#include <map>

#include "base/file/whole_file.h"
#include "tests/support/gunzip.h"
#include "tests/train/weights/golden_names.h"
#include "train/weights/adapt_weights.h"

using namespace shoal;
using namespace shoal::train;
using Catch::Contains;

namespace {

std::vector<char> example_golden(const std::string& name) {
  const std::string path = SHOAL_SOURCE_DIR "/tests/golden/weights/" + name;
  return name.ends_with(".gz") ? test::gunzip(path) : read_whole_file(path);
}

double first(const at::Tensor& tensor) {
  return tensor.flatten()[0].item<double>();
}

std::map<std::string, std::string> settings_of(const CheckpointData& data) {
  return {data.settings.begin(), data.settings.end()};
}

}  // namespace

TEST_CASE("a checkpoint of the imagenet example has weights, momentum, epoch and schedule") {
  const auto data = read_imagenet_example(example_golden("imagenet_example.pth.tar.gz"), "x");
  REQUIRE(data);
  CHECK(is_imagenet_example(*data));
  CHECK(data->integer("epoch") == 2);
  CHECK(data->integer("classes") == 3);
  CHECK(data->number("best_top1") == 41.5);
  const std::map<std::string, at::Tensor> model(data->model.begin(), data->model.end());
  const TensorShapes names = golden_model("resnet18");
  REQUIRE(model.size() == names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    INFO(names[i].name);
    if (names[i].sizes.empty()) continue;
    CHECK(first(model.at(names[i].name)) == static_cast<double>(i + 1) / 1024);
  }
  REQUIRE(data->optimizer.size() == 1);
  CHECK(data->optimizer[0].first == "momentum");
  const NamedTensors& momentum = data->optimizer[0].second;
  const auto parameters = default_network("resnet18", 3).parameters;
  REQUIRE(momentum.size() == parameters.size());
  for (size_t i = 0; i < momentum.size(); ++i) {
    CHECK(momentum[i].first == parameters[i].name);
    CHECK(momentum[i].second.sizes() == at::IntArrayRef(parameters[i].shape));
    CHECK(first(momentum[i].second) == -static_cast<double>(i + 1) / 1024);
  }
  CHECK(settings_of(*data) == std::map<std::string, std::string>{{"model", "resnet18"},
                                                                 {"optimizer", "sgd"},
                                                                 {"momentum", "0.8"},
                                                                 {"nesterov", "false"},
                                                                 {"weight_decay", "2e-04"},
                                                                 {"lr", "0.05"},
                                                                 {"schedule", "step"},
                                                                 {"decay_epochs", "30"},
                                                                 {"decay_rate", "0.1"}});
}

TEST_CASE("an old checkpoint of the example has the learning rate of its last epoch") {
  const auto data = read_imagenet_example(example_golden("imagenet_example_old.pth.tar.gz"), "x");
  REQUIRE(data);
  CHECK(data->integer("epoch") == 35);
  CHECK(data->number("best_top1") == 41.5);
  CHECK(settings_of(*data).at("lr") == "0.05");
  CHECK(settings_of(*data).at("decay_epochs") == "30");
}

TEST_CASE("an example's checkpoint of a network that shoal does not have is refused by name") {
  CHECK_THROWS_WITH(read_imagenet_example(example_golden("small_example.pth.tar"), "x.pth.tar"),
                    Contains("x.pth.tar") && Contains("linear") && Contains("shoal models"));
}

TEST_CASE("files that are no such checkpoint are left to others") {
  for (const char* name : {"example.pth.tar", "timm_ema.pth.tar", "old.pth"})
    CHECK_FALSE(read_imagenet_example(example_golden(name), "x"));
}
