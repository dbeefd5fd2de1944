// Tests runs whose preprocessing differs from the model's default: resume, evaluation, export.

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/support/program.h"

using namespace shoal;
using Catch::Contains;
using nlohmann::json;
using Words = std::vector<std::string>;
namespace fs = std::filesystem;

namespace {

struct Data {
  Data() { test::make_images(root() / "data", 24, 9, 3, 40); }
  fs::path root() const { return directory.path(); }
  std::string images() const { return (root() / "data").string(); }
  std::string run(const std::string& name) const { return (root() / name).string(); }

  test::Outcome train(const std::string& name, const Words& more) const {
    // clang-format off
    Words words = {"train", "--data", images(), "--output", run(name), "--threads", "1",
                   "--model", "efficientnet_b0", "--size", "32", "--batch-size", "6", "--epochs", "2",
                   "--lr", "0.02"};
    // clang-format on
    words.insert(words.end(), more.begin(), more.end());
    const auto outcome = test::run_shoal(words);
    INFO(outcome.err);
    REQUIRE(outcome.exit_code == 0);
    return outcome;
  }

  test::TemporaryDirectory directory;
};

json evaluated(const Words& more) {
  Words words = {"eval", "--json"};
  words.insert(words.end(), more.begin(), more.end());
  const auto outcome = test::run_shoal(words);
  INFO(outcome.err);
  REQUIRE(outcome.exit_code == 0);
  return json::parse(outcome.out);
}

}  // namespace

TEST_CASE(
    "a grayscale run with flips, its own mean and crop ratio resumes, is evaluated and exported") {
  const Data data;
  const Words options = {"--channels", "1",   "--vflip", "0.5",  "--hflip",    "0.25",
                         "--mean",     "0.4", "--std",   "0.25", "--crop-pct", "0.8"};
  Words whole = options, first = options;
  const std::string model = data.run("model");
  whole.insert(whole.end(), {"--export-dir", model, "--export", "last"});
  data.train("whole", whole);
  first.insert(first.end(), {"--max-steps", "5"});
  data.train("parts", first);  // stops within the second epoch
  const std::string resumed = data.run("resumed");
  const auto rest = data.train(
      "parts", {"--resume", "--max-steps", "none", "--export-dir", resumed, "--export", "last"});
  CHECK_THAT(rest.err, !Contains("changed:"));
  CHECK(test::read_text(fs::path(resumed) / "model.safetensors") ==
        test::read_text(fs::path(model) / "model.safetensors"));

  const json images = json::parse(test::read_text(fs::path(model) / "settings.json"))["images"];
  CHECK(images == json({{"channels", 1},
                        {"resize", 40},
                        {"crop", 32},
                        {"interpolation", "bicubic"},
                        {"mean", {0.4}},
                        {"std", {0.25}}}));
  const json own = evaluated({"--checkpoint", data.run("whole"), "--data", data.images()});
  const json exported = evaluated({"--checkpoint", model, "--data", data.images()});
  CHECK(exported["loss"] == own["loss"]);
  const json same = evaluated({"--checkpoint", model, "--data", data.images(), "--mean", "0.4",
                               "--val-resize", "40", "--channels", "1"});
  CHECK(same["loss"] == own["loss"]);
  for (const Words& other : {Words{"--mean", "0.3"}, Words{"--std", "0.5"},
                             Words{"--crop-pct", "1"}, Words{"--val-resize", "36"}}) {
    Words words = {"--checkpoint", model, "--data", data.images()};
    words.insert(words.end(), other.begin(), other.end());
    CHECK(evaluated(words)["loss"] != own["loss"]);
  }
  const auto refused = test::run_shoal({"train", "--data", data.images(), "--output",
                                        data.run("parts"), "--resume", "--channels", "3"});
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.err, Contains("channels 1, this run has 3"));
}

TEST_CASE("a run that starts from other weights takes their mean, and sums them for gray images") {
  const Data data;
  data.train("rgb", {"--mean", "0.5", "--max-steps", "1"});
  const Words from = {"--weights", data.run("rgb"), "--max-steps", "1"};
  Words gray = from;
  gray.insert(gray.end(), {"--channels", "1"});
  const auto tuned = data.train("tuned", from), summed = data.train("summed", gray);
  CHECK_THAT(tuned.err, Contains("  mean=0.5  "));
  CHECK_THAT(tuned.err, !Contains("are summed"));
  CHECK_THAT(summed.err, (Contains("features.0.0.weight") && Contains("summed")));
  CHECK_THAT(summed.err, Contains("channels=1  mean=0.5  "));
  // A model for grayscale cannot be evaluated in color.
  const auto refused = test::run_shoal(
      {"eval", "--checkpoint", data.run("summed"), "--data", data.images(), "--channels", "3"});
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.err, Contains("grayscale") && Contains("--channels 1"));
}
