// Tests a run that takes its settings from a file, and the settings that it saves.

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "base/json.h"
#include "tests/support/program.h"

using namespace shoal;
using Catch::Contains;
using nlohmann::json;

TEST_CASE("a run takes its settings from a file, saves them, and prints its epochs at the end") {
  const test::TemporaryDirectory folder;
  const std::filesystem::path root = folder.path();
  test::make_images(root / "data", 8, 4, 2, 40);
  std::ofstream(root / "run.yaml") << "data: " << (root / "data").string()
                                   << "\nmodel: mobilenet_v3_small\nsize: 32\nbatch-size: 4\n"
                                      "epochs: 9\nthreads: 1\noptimizer:\n  optimizer: adamw\n"
                                      "  clip: 1.5\nlogits: true\n";
  const std::string config = (root / "run.yaml").string(), output = (root / "runs/a").string();
  const auto run = test::run_shoal(
      {"train", "--config", config, "--epochs", "2", "--lr", "0.001", "--output", output},
      {"SECRET_TOKEN=hunter2hunter2"});
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  CHECK_THAT(run.err,
             Contains(config + ":5 gives epochs 9, but 2 (command line) takes precedence"));
  CHECK_THAT(run.err, (Contains("shoal train") && Contains("logits")));
  CHECK_THAT(run.err, Contains("from " + config + ": ") && Contains("clip=1.5"));
  CHECK_THAT(run.err, Contains("epoch  train loss  val loss"));
  CHECK(test::count_of(run.err, "  best\n") == 1);
  CHECK_THAT(run.err, Contains("the best: --checkpoint " + output + "/best"));

  const json summary = json::parse(test::read_text(output + "/summary.json"));
  CHECK(summary.at("settings").at("clip") == 1.5);
  CHECK(summary.at("host").at("processors").get<int>() >= 1);
  CHECK(summary.at("host").at("memory_bytes").get<int64_t>() > 0);
  CHECK_FALSE(summary.at("host").at("libtorch").get<std::string>().empty());

  // The saved settings are those of the run.
  const auto lines_with_values = [](const test::Outcome& printed) {
    REQUIRE(printed.exit_code == 0);
    std::string text;
    for (const std::string& line : test::lines_of(printed.out))
      if (!line.starts_with('#')) text += line.substr(0, line.find("  # ")) + "\n";
    return text;
  };
  const std::string given = lines_with_values(test::run_shoal(
      {"config", "--config", config, "--epochs", "2", "--lr", "0.001", "--output", output}));
  CHECK_THAT(given, Contains("\nclip = 1.5\n") && Contains("\nepochs = 2\n"));
  CHECK(lines_with_values(test::run_shoal({"config", "--config", output + "/config.toml"})) ==
        given);

  const auto listed = test::run_shoal({"runs", (root / "runs").string(), "--json"});
  const json rows = json::parse(listed.out);
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].at("name") == "a");
  CHECK(rows[0].at("model") == "mobilenet_v3_small");
  CHECK(rows[0].at("state") == "complete");
  CHECK(rows[0].at("epochs") == 2);
  CHECK(rows[0].at("best_acc1") == summary.at("best").at("acc1"));
  CHECK_THAT(test::run_shoal({"runs", (root / "runs").string()}).out,
             Contains("best top-1") && Contains("2/2") && Contains("complete"));
}

TEST_CASE("unknown commands are errors in every position, and config's command comes first") {
  const auto error_of = [](const std::vector<std::string>& words) {
    const auto outcome = test::run_shoal(words);
    CHECK(outcome.exit_code == 2);
    CHECK(outcome.out.empty());
    return outcome.err;
  };
  CHECK_THAT(error_of({"help", "evl"}), Contains("'evl'") && Contains("did you mean eval?"));
  CHECK_THAT(error_of({"--help", "evl"}), Contains("did you mean eval?"));
  CHECK_THAT(error_of({"config", "evl"}), Contains("did you mean eval?"));
  CHECK_THAT(error_of({"--modl", "x"}), Contains("'--modl'") && Contains("comes first"));
  CHECK_THAT(error_of({"config", "--x", "eval"}), Contains("`shoal config eval OPTIONS`"));
  CHECK_THAT(error_of({"config", "--lr", "3", "train"}), Contains("`shoal config train OPTIONS`"));
  CHECK_THAT(test::run_shoal({"--help", "train"}).out, Contains("Usage: shoal train"));
  CHECK_THAT(test::run_shoal({"config", "--sharded", "train"}).out,
             Contains("sharded = \"train\""));
  CHECK(test::run_shoal({"config", "train", "--mode", "eval"}).exit_code == 0);
}
