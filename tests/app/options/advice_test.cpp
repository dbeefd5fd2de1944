#include "app/options/advice.h"

#include <catch2/catch.hpp>

#include "tests/app/options/parsed.h"

using namespace shoal;
using Catch::Contains;
using Words = std::vector<std::string>;

namespace {

// Returns the warnings for training `model` with this batch-norm momentum on 600 images.
std::string advice_for(const std::string& model, double momentum, Words words,
                       bool continued = false, int64_t classes = 4) {
  words.insert(words.end(), {"--model", model});
  const app::Arguments arguments = test::parsed(words);
  train::Surroundings here;
  here.train_images = 600;
  here.val_images = 100;
  here.classes = classes;
  here.model.name = model;
  here.model.train_size = here.model.eval_size = 224;
  here.model.eval_resize = 256;
  here.model.batch_norm_momentum = momentum;
  const train::ResolvedJob run = train::resolve(arguments.job, here);
  std::string text;
  for (const std::string& line : app::advice({arguments, run, continued})) text += line + "\n";
  return text;
}

std::string advice_for_mobilenet(const Words& words, bool continued = false) {
  return advice_for("mobilenet_v3_small", 0.01, words, continued);
}

}  // namespace

// After 459 steps, less than 1 % of the initial running statistics is left: 0.99^458 = 0.01002 and
// 0.99^459 = 0.00992.
TEST_CASE(
    "a run that is too short for slow running statistics warns, and says how long it must be") {
  CHECK_THAT(advice_for_mobilenet({"--epochs", "12"}),
             Contains("mobilenet_v3_small") && Contains("at least 459 steps") &&
                 Contains("has 216") && Contains("--weights pretrained"));
  CHECK_THAT(advice_for_mobilenet({"--epochs", "90", "--max-steps", "458"}), Contains("has 458"));
  CHECK(advice_for_mobilenet({"--epochs", "90", "--max-steps", "459"}).empty());
  // Each micro-batch updates the running statistics: 115 steps of 4 micro-batches make 460 updates.
  CHECK(advice_for_mobilenet({"--max-steps", "115", "--accumulate", "4"}).empty());
  CHECK_THAT(advice_for_mobilenet({"--max-steps", "114", "--accumulate", "4"}),
             Contains("at least 115 steps"));
}

TEST_CASE(
    "runs whose running statistics are loaded, unused, fast or of unknown length do not warn") {
  const Words brief = {"--epochs", "2"};
  REQUIRE_FALSE(advice_for_mobilenet(brief).empty());
  CHECK(advice_for_mobilenet({"--epochs", "2", "--weights", "w.pth"}).empty());
  CHECK(advice_for_mobilenet({"--epochs", "2", "--freeze-bn"}).empty());
  CHECK(advice_for_mobilenet({"--epochs", "2", "--eval-only"}).empty());
  CHECK(advice_for_mobilenet({"--epochs", "2", "--time-budget", "1h"}).empty());
  CHECK(advice_for_mobilenet(brief, /*continued=*/true).empty());
  CHECK(advice_for("resnet18", 0.1, brief).empty());
}

TEST_CASE("the default optimizer with EfficientNet warns, as does a single class") {
  const auto efficientnet = [](const Words& words) {
    return advice_for("efficientnet_b0", 0.1, words);
  };
  CHECK_THAT(efficientnet({}), Contains("--optimizer sgd"));
  CHECK(efficientnet({"--lr", "0.02"}).empty());
  CHECK(efficientnet({"--optimizer", "adamw"}).empty());
  CHECK(efficientnet({"--eval-only"}).empty());
  CHECK_THAT(advice_for("resnet18", 0.1, {}, false, 1), Contains("single class"));
  CHECK(advice_for("resnet18", 0.1, {"--eval-only"}, false, 1).empty());
}
