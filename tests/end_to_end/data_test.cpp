// The commands that work on pictures alone.

#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "program.h"

using namespace shoal;
using Catch::Contains;
using Json = nlohmann::json;

TEST_CASE("pack makes, describes and checks a set, and training reads it") {
  const test::TemporaryDirectory directory;
  const std::string data = directory.path() / "data", packed = directory.path() / "packed";
  test::make_pictures(data, 40, 12, 3, 48);
  std::filesystem::create_directory(packed);
  for (const char* half : {"/train", "/val"}) {
    const auto pack = test::run_shoal({"pack", data + half, packed + half + ".pack", "--json"});
    INFO(pack.err);
    REQUIRE(pack.exit_code == 0);
    CHECK(Json::parse(pack.out).at("damaged") == 0);
  }
  const std::string set = packed + "/train.pack";
  const auto info = test::run_shoal({"pack", "--info", set, "--json"});
  REQUIRE(info.exit_code == 0);
  CHECK(Json::parse(info.out).at("pictures") == 40);
  CHECK(test::run_shoal({"pack", "--verify", set}).exit_code == 0);

  const auto again = test::run_shoal({"pack", data + "/train", set});
  CHECK(again.exit_code == 2);
  CHECK_THAT(again.err, Contains(set) && Contains("--overwrite"));
  CHECK(test::run_shoal({"pack", data + "/train", set, "--overwrite"}).exit_code == 0);

  // The same pictures in the same order: the same metrics.
  const auto losses = [&](const std::string& source, const std::string& output) {
    // clang-format off
    const auto run = test::run_shoal({
        "train", "--data", source, "--output", directory.path() / output, "--model",
        "efficientnet_b0", "--size", "32", "--batch-size", "8", "--epochs", "1", "--lr", "0.02"});
    // clang-format on
    INFO(run.err);
    REQUIRE(run.exit_code == 0);
    return Json::parse(test::read_text(directory.path() / output / "summary.json"))
        .at("train")
        .at("loss");
  };
  CHECK(losses(data, "from-folders") == losses(packed, "from-packs"));

  std::fstream file(set, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(200);
  file.put('\x5a').put('\x5b').put('\x5c');
  file.close();
  const auto damaged = test::run_shoal({"pack", "--verify", set});
  CHECK(damaged.exit_code == 1);
  CHECK_THAT(damaged.out, Contains("39 of 40"));
}

TEST_CASE("bench loader measures folders and tells what bounds it") {
  const test::TemporaryDirectory directory;
  const std::string data = directory.path() / "data";
  test::make_pictures(data, 40, 12, 3, 48);
  const auto bench = [&](std::vector<std::string> more) {
    std::vector<std::string> words = {"bench", "loader", data, "--seconds", "0.05", "--size", "32"};
    words.insert(words.end(), more.begin(), more.end());
    return test::run_shoal(words);
  };
  const auto json = bench({"--json", "--threads", "1", "--wanted", "1"});
  INFO(json.err);
  REQUIRE(json.exit_code == 0);
  const Json result = Json::parse(json.out);
  CHECK(result.at("images_per_sec").get<double>() > 0);
  CHECK(result.at("pictures") == 40);
  CHECK(result.at("threads_needed") == 1);
  REQUIRE(result.at("runs").size() == 1);
  CHECK(result.at("runs")[0].at("seconds_per_image").at("resize").get<double>() > 0);

  const auto eval = bench({"--eval", "--val-size", "32", "--threads", "2"});
  INFO(eval.err);
  REQUIRE(eval.exit_code == 0);
  CHECK_THAT(eval.out, Contains("images/s") && Contains("bound: "));
  CHECK(Json::parse(bench({"--eval", "--json", "--threads", "1"}).out).at("pictures") == 12);
  CHECK(bench({"--order", "chunked", "--cache", "1M", "--mode", "fast"}).exit_code == 0);

  CHECK_THAT(bench({"--decoder", "turbo", "--mode", "fast"}).err, Contains("--decoder turbo"));
  CHECK_THAT(test::run_shoal({"bench", "sink", data}).err, Contains("`shoal bench loader DATA`"));
  CHECK_THAT(bench({"--seconds", "0"}).err, Contains("--seconds"));
  CHECK_THAT(bench({"--cache", "much"}).err, Contains("--cache is 'much'"));
}
