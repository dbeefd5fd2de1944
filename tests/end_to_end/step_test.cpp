// Tests `bench step`, `bench scaling`, --batch-size auto, and the memory check before training.

#include <catch2/catch.hpp>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/support/program.h"

using namespace shoal;
using Catch::Contains;
using Json = nlohmann::json;

namespace {

using Words = std::vector<std::string>;

test::Outcome bench(const Words& more) {
  Words words = {"bench", "step", "--model", "resnet18", "--threads", "2", "--steps", "2"};
  words.insert(words.end(), more.begin(), more.end());
  return test::run_shoal(words);
}

Json measured(Words words) {
  words.push_back("--json");
  const auto done = bench(words);
  INFO(done.err);
  REQUIRE(done.exit_code == 0);
  return Json::parse(done.out);
}

double number(const Json& json, const char* key) {
  return json.at(key).get<double>();
}

// Class folders with 40 training and 12 validation images of 3 classes.
struct Images {
  test::TemporaryDirectory directory;
  std::string data = directory.path() / "data", output = directory.path() / "run";
  Images() { test::make_images(data, 40, 12, 3, 48); }

  test::Outcome train(const Words& more) const {
    Words words = {"train", "--data",   data, "--model",  "resnet18", "--size",
                   "32",    "--epochs", "1",  "--output", output};
    words.insert(words.end(), more.begin(), more.end());
    return test::run_shoal(words);
  }
};

}  // namespace

TEST_CASE("bench step measures a step, and predicts its memory") {
  for (const char* amp : {"off", "bf16"}) {
    const Json fused = measured({"--batch-size", "24", "--size", "160", "--amp", amp});
    CHECK(fused.at("step_seconds").size() == 2);
    CHECK(number(fused, "images_per_sec") > 0);
    CHECK(fused.at("kernels").get<std::string>().find("fused") != std::string::npos);
    CHECK(number(fused.at("phase_seconds"), "backward") > 0);
    CHECK(number(fused, "machine_operations_per_sec") > 0);
    const double used = number(fused, "peak_bytes") - number(fused, "own_bytes");
    CHECK(number(fused, "computed_bytes") / used == Approx(1).epsilon(0.15));
  }
  const Json reference =
      measured({"--batch-size", "24", "--size", "160", "--kernels", "reference"});
  const double used = number(reference, "peak_bytes") - number(reference, "own_bytes");
  CHECK(number(reference, "computed_bytes") / used == Approx(1).epsilon(0.2));
}

TEST_CASE("bench step prints a table, evaluates, and writes a trace with the network's layers") {
  const test::TemporaryDirectory directory;
  const std::string trace = directory.path() / "trace.json";
  const auto printed = bench({"--batch-size", "4", "--size", "32", "--trace", trace});
  INFO(printed.err);
  REQUIRE(printed.exit_code == 0);
  CHECK_THAT(printed.out, Contains("images/s") && Contains("backward") && Contains("arithmetic"));
  std::ifstream file(trace);
  std::map<std::string, int> events;
  const Json content = Json::parse(file);
  for (const auto& event : content.at("traceEvents"))
    if (event.contains("name")) ++events[event.at("name").get<std::string>()];
  CHECK(events["forward layer1.0.conv1"] == 1);
  CHECK(events["backward layer1.0.conv1"] == 1);
  CHECK(events["update"] == 1);

  const Json eval = measured({"--eval", "--val-size", "32", "--batch-size", "4"});
  CHECK(eval.at("mode") == "eval");
  CHECK(eval.at("size") == 32);
  CHECK(eval.at("computed_bytes") < 200'000'000);
}

TEST_CASE("bench step refuses options and files that it cannot use") {
  CHECK_THAT(bench({"--wanted", "5"}).err, Contains("--wanted") && Contains("bench loader"));
  CHECK_THAT(bench({"--batch-size", "1048576"}).err,
             Contains("available") && Contains("--batch-size auto"));
  CHECK_THAT(bench({"--batch-size", "2", "--size", "32", "--trace", "/nonexistent/t.json"}).err,
             Contains("/nonexistent/t.json"));
  CHECK_THAT(test::run_shoal({"bench", "step", "here"}).err, Contains("usage"));
  CHECK_THAT(test::run_shoal({"bench", "loader", "here", "--trace", "t.json"}).err,
             Contains("--trace") && Contains("bench step"));
}

TEST_CASE("bench scaling predicts steps of several hosts, from a measured or a given step") {
  const auto run = [&](Words more) {
    Words words = {"bench", "scaling", "--model", "resnet18", "--batch-size", "4", "--size", "32"};
    words.insert(words.end(), more.begin(), more.end());
    for (const char* word :
         {"--hosts", "4", "--host-processes", "2", "--link-gbps", "0.001", "--json"})
      words.push_back(word);
    const auto done = test::run_shoal(words);
    INFO(done.err);
    REQUIRE(done.exit_code == 0);
    return Json::parse(done.out);
  };
  const Json measured = run({"--steps", "2"});
  CHECK(measured.at("measured") == true);
  CHECK(measured.at("gradient_megabytes").get<double>() == Approx(4 * 11.689512));
  const Json& rows = measured.at("predictions");
  std::vector<int> processes;
  for (const Json& row : rows) processes.push_back(row.at("processes"));
  CHECK(processes == std::vector<int>{1, 2, 4, 8});
  CHECK(rows[0].at("step_seconds") == measured.at("step_seconds"));
  // In a ring of 8 processes, each sends every value 2 * 7/8 times, at 95 % of 1 Mbit/s. The values
  // are the gradients, and the mean and variance of all 4800 channels with batch norm.
  CHECK(rows[3].at("exchange_seconds").get<double>() ==
        Approx(1.75 * 4 * (11'689'512 + 2 * 4800) / (0.95 * 125'000)).epsilon(0.001));
  CHECK(rows[3].at("exposed_seconds") > 600);

  const Json given = run({"--step-ms", "500", "--gradient-compression", "bf16"});
  CHECK(given.at("measured") == false);
  CHECK(given.at("gradient_compression") == "bf16");
  CHECK(given.at("predictions")[0].at("step_seconds") == 0.5);
  CHECK(given.at("predictions")[3].at("exchange_seconds") < rows[3].at("exchange_seconds"));
}

TEST_CASE("bench scaling predicts for machines unlike this one, and refuses contradictions") {
  const auto run = [](Words more) {
    Words words = {"bench", "scaling"};
    words.insert(words.end(), more.begin(), more.end());
    return test::run_shoal(words);
  };
  const auto table = run({"--step-ms", "15", "--device", "cuda", "--batch-size", "4096"});
  INFO(table.err);
  CHECK(table.exit_code == 0);
  CHECK_THAT(table.out, Contains("cuda: 15.0 ms per step (given)") && Contains("speedup") &&
                            Contains("--link-gbps"));
  CHECK_THAT(run({"--eval"}).err, Contains("--eval is an option of") && Contains("bench step"));
  CHECK_THAT(run({"--hosts", "0"}).err, Contains("--hosts") && Contains("from 1 to 4096"));
  CHECK_THAT(run({"--step-ms", "1e300"}).err, Contains("--step-ms") && Contains("at most"));
  CHECK_THAT(run({"--step-ms", "5", "--steps", "9"}).err, Contains("--steps has no effect"));
  CHECK_THAT(run({"--step-ms", "5", "--batch-size", "auto"}).err, Contains("--batch-size is auto"));
  CHECK_THAT(bench({"--link-gbps", "5"}).err, Contains("--link-gbps") && Contains("bench scaling"));
}

TEST_CASE("bench takes the number of classes from --classes, a number or a file of names") {
  const test::TemporaryDirectory folder;
  const std::string names = folder.path() / "names.txt";
  std::ofstream(names) << "ant\nbee\ncow\n";
  const auto megabytes = [](const std::string& classes) {
    const auto run = test::run_shoal({"bench", "scaling", "--model", "resnet18", "--step-ms", "5",
                                      "--classes", classes, "--json"});
    INFO(run.err);
    REQUIRE(run.exit_code == 0);
    return number(Json::parse(run.out), "gradient_megabytes");
  };
  CHECK(megabytes("3") == Approx(4 * 11.178051));
  CHECK(megabytes(names) == Approx(4 * 11.178051));
  CHECK_THAT(bench({"--classes", names + "x"}).err, Contains("--classes " + names + "x"));
}

TEST_CASE("--batch-size auto uses all images that fit, and a resumed run keeps the batch size") {
  const Images images;
  const auto done = images.train({"--batch-size", "auto"});
  INFO(done.err);
  REQUIRE(done.exit_code == 0);
  CHECK_THAT(done.err, Contains("--batch-size auto: 40 images"));
  CHECK_THAT(done.err, Contains("memory: about"));
  const auto resumed = images.train({"--batch-size", "auto", "--epochs", "2", "--resume"});
  INFO(resumed.err);
  CHECK(resumed.exit_code == 0);
  CHECK_THAT(resumed.err, !Contains("--batch-size auto:"));
}

TEST_CASE("--batch-size auto is refused by commands that do not train") {
  const Images images;
  CHECK_THAT(test::run_shoal({"bench", "loader", images.data, "--batch-size", "auto"}).err,
             Contains("--batch-size auto"));
  REQUIRE(images.train({"--batch-size", "4", "--accumulate", "2"}).exit_code == 0);
  const auto eval =
      test::run_shoal({"eval", images.output, "--data", images.data, "--batch-size", "auto"});
  CHECK(eval.exit_code == 2);
  CHECK_THAT(eval.err, Contains("--batch-size auto") && Contains("training"));
  const auto only = images.train({"--batch-size", "auto", "--eval-only", "--resume"});
  CHECK(only.exit_code == 2);
  CHECK_THAT(only.err, Contains("--batch-size auto") && Contains("training"));
}

TEST_CASE("--batch-size auto chooses a divisor of the global batch size") {
  const Images images;
  const auto done = images.train(
      {"--batch-size", "auto", "--global-batch-size", "20", "--nproc", "2", "--threads", "1"});
  INFO(done.err);
  REQUIRE(done.exit_code == 0);
  CHECK_THAT(done.err, Contains("--batch-size auto: 10 images per process"));
}

TEST_CASE("a run that needs more memory than is available ends before training") {
  const Images images;
  const auto done =
      images.train({"--model", "efficientnet_b7", "--size", "4096", "--batch-size", "40"});
  INFO(done.err);
  CHECK(done.exit_code == 2);
  CHECK_THAT(done.err, Contains("a batch of 40 images") && Contains("available"));
}

TEST_CASE("--amp bf16 says so on a processor that multiplies no bfloat16") {
  const Images images;
  const auto done = test::run_shoal({"train", "--data", images.data, "--model", "resnet18", "--amp",
                                     "bf16", "--dry-run", "--output", images.output},
                                    {"ATEN_CPU_CAPABILITY=avx2"});
  INFO(done.err);
  CHECK(done.exit_code == 0);
  CHECK_THAT(done.err, Contains("no bfloat16 multiplication"));
  const auto float32 = images.train({"--dry-run"});
  CHECK_THAT(float32.err, !Contains("bfloat16"));
}
