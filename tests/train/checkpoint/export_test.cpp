#include "train/checkpoint/export.h"

#include <ATen/ops/equal.h>
#include <ATen/ops/tensor.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/temporary_directory.h"
#include "train/checkpoint/checkpoint_store.h"
#include "train/job/job.h"
#include "train/weights/formats/safetensors.h"
#include "train/weights/model_file.h"

using namespace shoal;
using namespace shoal::train;
using Catch::Contains;

namespace {

CheckpointData example(bool averaged) {
  CheckpointData data;
  data.model = {{"fc.weight", at::tensor({1.0F, 2.0F})},
                {"bn.num_batches_tracked", at::tensor(int64_t{5})}};
  if (averaged) data.ema = {{"fc.weight", at::tensor({3.0F, 4.0F})}};
  data.integers = {{"epoch", 2}, {"step", 9}, {"classes", 2}, {"val_size", 64}, {"val_resize", 73}};
  data.text = {{"arch", "toy"}, {"interpolation", "bicubic"}};
  data.classes = {"cat", "dög"};
  data.settings = {{"lr", "0.1"}};
  return data;
}

nlohmann::json json_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return nlohmann::json::parse(file);
}

CheckpointData read_back(const std::filesystem::path& folder) {
  return read_model(read_whole_file(folder / kModelFile), "there");
}

}  // namespace

TEST_CASE("the exported model has the averaged weights and all that prediction needs") {
  const test::TemporaryDirectory directory;
  const auto folder = directory.path() / "model";
  Exported best;
  best.best = true;
  best.top1 = 33.25;
  export_model(example(true), folder.string(), best);
  const CheckpointData back = read_back(folder);
  CHECK(back.model.empty());
  REQUIRE(back.ema.size() == 2);
  CHECK(back.ema[0].second.item<int64_t>() == 5);
  CHECK(at::equal(back.ema[1].second, at::tensor({3.0F, 4.0F})));
  CHECK(back.classes == std::vector<std::string>{"cat", "dög"});
  CHECK(back.string("arch") == "toy");
  CHECK(back.string("interpolation") == "bicubic");
  CHECK(back.integer("val_size") == 64);
  CHECK(back.integer("step") == 9);

  CHECK(json_of(folder / "classes.json")["dög"] == 1);
  const auto settings = json_of(folder / "settings.json");
  CHECK(settings["averaged"] == true);
  CHECK(settings["weights"] == "best");
  CHECK(settings["top1"] == 33.25);
  CHECK(settings["images"]["resize"] == 73);
  CHECK(settings["images"]["channels"] == 3);
  // An older run saved no mean, so the default is exported.
  CHECK(settings["images"]["mean"] == nlohmann::json({0.485, 0.456, 0.406}));
  CHECK(settings["settings"]["lr"] == "0.1");

  export_model(example(false), folder.string(), {});  // replaces the existing files
  CHECK(read_back(folder).ema.empty());
  CHECK(at::equal(read_back(folder).model.at(1).second, at::tensor({1.0F, 2.0F})));
  for (const auto& file : std::filesystem::directory_iterator(folder))
    CHECK(file.path().extension() != ".part");
}

TEST_CASE("the exported model keeps the normalization and the channels of its images") {
  const test::TemporaryDirectory directory;
  const auto folder = directory.path() / "model";
  CheckpointData data = example(true);
  data.text.insert({{"mean", "0.5"}, {"std", "0.25"}, {"channels", "1"}, {"crop_pct", "0.9"}});
  export_model(data, folder.string(), {});
  for (const char* name : {"mean", "std", "channels", "crop_pct"})
    CHECK(read_back(folder).string(name) == data.string(name));
  const auto images = json_of(folder / "settings.json")["images"];
  CHECK(images["channels"] == 1);
  CHECK(images["mean"] == nlohmann::json::array({0.5}));
  CHECK(images["std"] == nlohmann::json::array({0.25}));
}

TEST_CASE("an unwritable folder is named") {
  CHECK_THROWS_WITH(export_model(example(false), "/proc/shoal", {}), Contains("/proc/shoal"));
}

TEST_CASE("a file of another program is refused with the missing entry") {
  std::vector<char> bytes;
  write_safetensors({{{"fc.weight", at::tensor(1.0F)}}, {}}, [&](const void* part, size_t size) {
    const auto* begin = static_cast<const char*>(part);
    bytes.insert(bytes.end(), begin, begin + size);
  });
  CHECK_THROWS_AS(read_model(bytes, "other.safetensors"), UserError);
  CHECK_THROWS_WITH(read_model(bytes, "other.safetensors"), Contains("no arch"));
}
