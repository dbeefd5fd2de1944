// Tests the metrics of unusual runs: losses that are not finite, and few validation images.

#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>

#include "app/commands/local/metric_definitions.h"
#include "tests/support/history.h"
#include "tests/support/program.h"

using namespace shoal;
namespace fs = std::filesystem;

namespace {

std::vector<std::string> words_in(const fs::path& root, const std::vector<std::string>& more) {
  // clang-format off
  std::vector<std::string> words = {
      "train", "--data", (root / "data").string(), "--output", (root / "run").string(),
      "--model", "mobilenet_v3_small", "--size", "32", "--batch-size", "4", "--epochs", "1",
      "--print-freq", "1", "--threads", "1", "--workers", "1"};
  // clang-format on
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace

TEST_CASE("a loss that is not finite leaves the history JSON and the lines within definitions") {
  const test::TemporaryDirectory directory;
  const fs::path& root = directory.path();
  test::make_images(root / "data", 40, 12, 2, 32);
  // The first step makes the weights so large that every later loss overflows.
  const auto run =
      test::run_shoal(words_in(root, {"--lr", "1e30", "--max-steps", "4", "--non-finite-limit",
                                      "100", "--ema", "0.5", "--nproc", "2", "--batch-size", "4"}));
  INFO(run.err << run.out);
  REQUIRE(run.exit_code == 1);  // the final weights are unusable
  REQUIRE(run.err.find("weights have diverged") != std::string::npos);
  REQUIRE(run.err.find("in a row, up to step 4") != std::string::npos);
  std::map<std::string, size_t> rows;
  for (const auto& line : test::lines_of(test::read_text(root / "run/history.jsonl"))) {
    INFO(line);
    const auto row = nlohmann::json::parse(line);
    CHECK(line.find("null") == line.npos);  // the JSON library writes nan and inf as null
    ++rows[row.at("event")];
  }
  CHECK(rows["train"] == 1);
  CHECK(rows["nonfinite"] == 3);
  CHECK(rows["valid"] == 1);
  CHECK(rows["valid_ema"] == 1);

  const std::map<std::string, size_t> expected = {
      {"train:loss", 1}, {"loss", 1},       {"valid:loss", 0},     {"test_loss", 0},
      {"valid:acc1", 1}, {"final_acc1", 1}, {"valid:ema_loss", 0}, {"valid:ema_acc1", 1}};
  size_t compared = 0;
  const std::regex not_finite("nan|inf", std::regex::icase);
  for (const auto& line : test::lines_of(run.out)) {
    INFO(line);
    CHECK_FALSE(std::regex_search(line, not_finite));
  }
  for (const auto& definition : app::metric_definitions()) {
    const std::regex pattern(definition.regex);
    size_t found = 0;
    for (const auto& line : test::lines_of(run.out)) {
      std::smatch match;
      if (!std::regex_search(line, match, pattern)) continue;
      INFO(definition.name << ": " << line);
      CHECK(std::isfinite(std::stod(match[1])));
      ++found;
    }
    INFO(definition.name);
    if (!expected.contains(definition.name)) continue;
    CHECK(found == expected.at(definition.name));
    ++compared;
  }
  CHECK(compared == expected.size());
}

TEST_CASE("with fewer validation images than processes, every image counts once") {
  const test::TemporaryDirectory directory;
  const fs::path& root = directory.path();
  test::make_images(root / "data", 48, 2, 2, 32);
  const auto run =
      test::run_shoal(words_in(root, {"--nproc", "3", "--lr", "0.01", "--ema", "0.5"}));
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  std::map<std::string, nlohmann::json> rows;
  for (const nlohmann::json& row : test::rows(root / "run/history.jsonl"))
    rows[row.at("event")] = row;
  CHECK(rows.at("valid").at("images") == 2);
  CHECK(rows.at("valid_ema").at("images") == 2);
  for (const std::string nproc : {"1", "3"}) {
    const auto eval = test::run_shoal({"eval", "--checkpoint", (root / "run").string(), "--data",
                                       (root / "data").string(), "--nproc", nproc, "--json"});
    INFO(eval.err);
    REQUIRE(eval.exit_code == 0);
    const auto result = nlohmann::json::parse(eval.out);
    CHECK(result.at("images") == 2);
    CHECK(result.at("acc1").get<double>() == rows.at("valid_ema").at("acc1").get<double>());
    CHECK(result.at("loss").get<double>() ==
          Approx(rows.at("valid_ema").at("loss").get<double>()).epsilon(1e-5));
  }
}
