// Tests a run of two processes: its log, its files, and the metrics that other programs read from
// the log.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>

#include "app/commands/local/metric_definitions.h"
#include "tests/support/history.h"
#include "tests/support/program.h"

using namespace shoal;
using test::lines_of;

namespace {

// The metric definitions of simple-sagemaker's imagenet example.
const std::map<std::string, std::string> kImagenetExample = {
    {"loss", R"(Epoch:.*Loss\s+([e\-+0-9\\.]*) \()"},
    {"acc1", R"(Epoch:.*Acc@1\s+([e\-+0-9\\.]*) \()"},
    {"acc5", R"(Epoch:.*Acc@5\s+([e\-+0-9\\.]*) \()"},
    {"time", R"(Epoch:.*Time\s+([e\-+0-9\\.]*) \()"},
    {"data_time", R"(Epoch:.*Data\s+([e\-+0-9\\.]*) \()"},
    {"test_loss", R"(Test:.*Loss\s+([e\-+0-9\\.]*) \()"},
    {"test_acc1", R"(Test:.*Acc@1\s+([e\-+0-9\\.]*) \()"},
    {"test_acc5", R"(Test:.*Acc@5\s+([e\-+0-9\\.]*) \()"}};

std::vector<std::string> captures(const std::vector<std::string>& lines,
                                  const std::string& pattern) {
  const std::regex regex(pattern);
  std::vector<std::string> found;
  for (const auto& line : lines) {
    std::smatch match;
    if (std::regex_search(line, match, regex)) found.push_back(match[1]);
  }
  return found;
}

// Fails the test unless the printed metrics equal those in the history, up to the printed digits.
void require_same(const std::vector<std::string>& printed, const std::vector<double>& exact,
                  const std::string& name) {
  INFO(name);
  REQUIRE(printed.size() == exact.size());
  for (size_t i = 0; i < printed.size(); ++i) {
    const auto point = printed[i].find('.');
    const auto exponent = printed[i].find('e');
    const auto digits = (exponent == std::string::npos ? printed[i].size() : exponent) - point - 1;
    double unit = std::pow(10.0, -static_cast<double>(digits));
    if (exponent != std::string::npos) {
      unit *= std::pow(10.0, std::atof(printed[i].c_str() + exponent + 1));
    }
    INFO(printed[i] << " against " << exact[i]);
    REQUIRE(std::abs(std::atof(printed[i].c_str()) - exact[i]) <= 0.5000001 * unit);
  }
}

std::vector<double> values(const std::vector<nlohmann::json>& history, const std::string& event,
                           const std::string& pointer) {
  const nlohmann::json::json_pointer place(pointer);
  std::vector<double> list;
  for (const auto& line : history) {
    if (line.at("event") == event) list.push_back(line.at(place).get<double>());
  }
  return list;
}

// A pattern that finds a metric in the log, and the metric's event and JSON pointer in the history.
struct Metric {
  std::string pattern, event, pointer;
};
const std::vector<Metric> kMetrics = {
    {kImagenetExample.at("loss"), "train", "/loss"},
    {kImagenetExample.at("acc1"), "train", "/acc1"},
    {kImagenetExample.at("acc5"), "train", "/acc5"},
    {kImagenetExample.at("time"), "train", "/timing/step"},
    {kImagenetExample.at("data_time"), "train", "/timing/data"},
    {kImagenetExample.at("test_loss"), "test", "/loss"},
    {kImagenetExample.at("test_acc1"), "test", "/acc1"},
    {kImagenetExample.at("test_acc5"), "test", "/acc5"},
    {R"(train:loss=([-+0-9.eE]+);)", "train", "/loss"},
    {R"(train:lr=([-+0-9.eE]+);)", "train", "/lr"},
    {R"(train:grad_norm=([-+0-9.eE]+);)", "train", "/grad_norm"},
    {R"(train:images_per_sec=([-+0-9.eE]+);)", "train", "/timing/images_per_sec"},
    {R"(valid:loss=([-+0-9.eE]+);)", "valid", "/loss"},
    {R"(valid:acc1=([-+0-9.eE]+);)", "valid", "/acc1"},
    {R"(\*\s+Acc@1\s+([0-9.]+)\s+Acc@5)", "valid", "/acc1"}};

// Checks the files that a complete run with 22 validation images and 3 classes writes.
void require_files(const std::vector<nlohmann::json>& history, const std::string& output) {
  for (const auto& line : history) {
    if (line.at("event") == "valid") REQUIRE(line.at("images") == 22);
  }
  const auto summary = nlohmann::json::parse(test::read_text(output + "/summary.json"));
  REQUIRE(summary.at("outcome") == "complete");
  REQUIRE(nlohmann::json::parse(test::read_text(output + "/classes.json")).size() == 3);
  REQUIRE(test::read_text(output + "/report.html").ends_with("</html>\n"));
  const auto report = test::run_shoal({"report", output, "-o", output + "/again.html"});
  REQUIRE(report.exit_code == 0);
  REQUIRE(report.out == output + "/again.html\n");
  REQUIRE(test::read_text(output + "/again.html").size() > 100'000);
  REQUIRE(test::run_shoal({"report", "/nowhere"}).exit_code == 2);
}

}  // namespace

TEST_CASE("a two-process run prints every metric once and writes the same to its history") {
  const test::TemporaryDirectory directory;
  test::make_images(directory.path() / "data", 96, 22, 3, 48);
  const std::string output = (directory.path() / "run").string();
  // clang-format off
  const auto run = test::run_shoal({
      "train", "--data", (directory.path() / "data").string(), "--output", output, "--nproc", "2",
      "--model", "efficientnet_b0", "--size", "32", "--batch-size", "8", "--epochs", "2", "--lr",
      "0.01",
      "--print-freq", "2"});
  // clang-format on
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  const auto lines = lines_of(run.out);
  const std::vector<nlohmann::json> history = test::rows(output + "/history.jsonl");

  // Each line is unique, except that two epochs may have the same accuracy.
  const auto summarizes = [](const std::string& line) { return line.starts_with(" * Acc@1 "); };
  REQUIRE(std::count_if(lines.begin(), lines.end(), summarizes) == 2);
  for (const auto& line : lines) {
    INFO(line);
    REQUIRE((summarizes(line) || std::count(lines.begin(), lines.end(), line) == 1));
    REQUIRE(line.find("nan") == std::string::npos);
    REQUIRE(line.find('\r') == std::string::npos);
  }
  // 6 steps per epoch; steps 1, 2, 4 and 6 are printed.
  REQUIRE(values(history, "train", "/loss").size() == 8);
  for (const auto& metric : kMetrics) {
    require_same(captures(lines, metric.pattern), values(history, metric.event, metric.pointer),
                 metric.pattern);
  }
  REQUIRE(captures(lines, R"(Total time: ([0-9]+) seconds)").size() == 1);
  REQUIRE(captures(lines_of(run.err), "([0-9]+) of 12 steps waited for images").size() == 1);

  // Every definition that `shoal metrics` prints matches a line, except those of EMA. Utilization
  // is not checked: it is printed only if the run takes 10 s.
  for (const auto& definition : app::metric_definitions()) {
    if (definition.name.starts_with("util:")) continue;
    INFO(definition.name << " " << definition.regex);
    const bool absent_here = definition.name.find("ema") != std::string::npos;
    const auto found = captures(lines, definition.regex);
    REQUIRE(found.empty() == absent_here);
    for (const auto& text : found) REQUIRE_FALSE(text.empty());
  }

  require_files(history, output);
}

TEST_CASE("the data hash is the same at any world size and thread count") {
  const test::TemporaryDirectory directory;
  test::make_images(directory.path() / "data", 60, 6, 3, 48);
  std::vector<std::string> hashes;
  const std::string data = (directory.path() / "data").string();
  const std::vector<std::pair<std::string, std::string>> shapes = {
      {"1", "1"}, {"1", "4"}, {"2", "1"}, {"3", "2"}};
  for (const auto& [nproc, workers] : shapes) {
    const std::string output = (directory.path() / (nproc + "-" + workers)).string();
    // clang-format off
    const auto run = test::run_shoal({
        "train", "--data", data, "--output", output, "--nproc", nproc, "--workers", workers,
        "--model", "mobilenet_v3_small", "--size", "32", "--global-batch-size", "12", "--mixup",
        "0.2",
        "--epochs", "1", "--lr", "0.01", "--log-level", "debug"});
    // clang-format on
    INFO(run.err);
    REQUIRE(run.exit_code == 0);
    const auto found = captures(lines_of(run.err), "data hash ([0-9a-f]{16})");
    REQUIRE(found.size() == 1);
    hashes.push_back(found[0]);
  }
  for (const auto& hash : hashes) REQUIRE(hash == hashes[0]);
}

TEST_CASE("eval and predict read what training wrote") {
  const test::TemporaryDirectory directory;
  const std::string data = (directory.path() / "data").string();
  const std::string output = (directory.path() / "run").string();
  test::make_images(data, 60, 11, 3, 48);
  // clang-format off
  const auto run = test::run_shoal({
      "train", "--data", data, "--output", output, "--model", "efficientnet_b0", "--size", "32",
      "--batch-size", "10", "--epochs", "2", "--lr", "0.02", "--ema", "0.9"});
  // clang-format on
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  const auto trained = captures(lines_of(run.out), R"(valid:ema_acc1=([0-9.]+);)");
  REQUIRE(trained.size() == 2);
  const double last = std::atof(trained.back().c_str());
  const double best = std::max(last, std::atof(trained.front().c_str()));
  struct Case {
    std::string nproc, checkpoint;
    double accuracy;
  };
  for (const auto& [nproc, checkpoint, accuracy] :
       {Case{"1", output, last}, Case{"2", output + "/checkpoints", last},
        Case{"1", output + "/best", best}, Case{"1", output + "/checkpoints/last", last}}) {
    const auto eval = test::run_shoal(
        {"eval", "--checkpoint", checkpoint, "--data", data, "--nproc", nproc, "--json"});
    INFO(eval.err);
    REQUIRE(eval.exit_code == 0);
    const auto json = nlohmann::json::parse(eval.out);
    REQUIRE(json.at("images") == 11);
    REQUIRE(json.at("acc1").get<double>() == Approx(accuracy).margin(1e-5));
  }
  const auto some = test::run_shoal({"predict", "--checkpoint", output + "/checkpoints", "--csv",
                                     data + "/none.jpg", data + "/val"});
  CHECK(some.exit_code == 0);
  CHECK(some.out.find("none.jpg,,,,the file does not exist\n") != std::string::npos);
  CHECK(some.out.find("/val/") != std::string::npos);  // the readable images are still predicted
  const auto predict = test::run_shoal(
      {"predict", "--checkpoint", output + "/checkpoints", "--json", data + "/val"});
  INFO(predict.err);
  REQUIRE(predict.exit_code == 0);
  const auto lines = lines_of(predict.out);
  REQUIRE(lines.size() == 11);
  int right = 0;
  for (const auto& line : lines) {
    const auto json = nlohmann::json::parse(line);
    REQUIRE(json.at("top5").size() == 3);
    double sum = 0;
    for (const auto& guess : json.at("top5")) sum += guess.at("probability").get<double>();
    REQUIRE(sum == Approx(1).margin(1e-5));
    const std::string name = json.at("top5")[0].at("class");
    right += json.at("path").get<std::string>().find("/" + name + "/") != std::string::npos;
  }
  REQUIRE(100.0 * right / 11 == Approx(std::atof(trained.back().c_str())).margin(1e-4));
}

TEST_CASE("the list of models shows how each is evaluated: resize, crop and filter") {
  const auto table = test::run_shoal({"models"});
  INFO(table.out << table.err);
  REQUIRE(table.exit_code == 0);
  const auto lines = lines_of(table.out);
  const auto row = [&](const std::string& name) {
    const auto found = std::find_if(lines.begin(), lines.end(),
                                    [&](const auto& line) { return line.starts_with(name + " "); });
    REQUIRE(found != lines.end());
    return *found;
  };
  CHECK_THAT(lines.at(0), Catch::Matches(".*eval resize +eval crop +filter"));
  CHECK_THAT(row("efficientnet_b1"), Catch::Matches(".* 240 px +256 px +240 px +bicubic"));
  CHECK_THAT(row("resnet50"), Catch::Matches(".* 224 px +256 px +224 px +bilinear"));
  const auto list = nlohmann::json::parse(test::run_shoal({"models", "--json"}).out);
  const auto& first = list.at(0);
  CHECK(first.at("eval_resize") == 256);
  CHECK(first.at("eval_size") == 224);
  CHECK(first.at("interpolation") == "bicubic");
  CHECK(list.back().at("interpolation") == "bilinear");
}

TEST_CASE("shoal models counts multiply-adds at the size of --size, and names it") {
  const auto out = [](std::vector<std::string> words) {
    const auto run = test::run_shoal(words);
    INFO(run.err);
    REQUIRE(run.exit_code == 0);
    return run.out;
  };
  CHECK_THAT(out({"models", "resnet18"}), Catch::Contains(" 1.81 G at 224 px "));
  CHECK_THAT(out({"models", "resnet18", "--size", "64"}), Catch::Contains(" 0.15 G at 64 px "));
  const auto list = nlohmann::json::parse(out({"models", "resnet18", "--size", "64", "--json"}));
  CHECK(list.at(0).at("multiply_adds") == 148557824.);
  CHECK(list.at(0).at("eval_size") == 224);
  const std::string layers = out({"models", "--layers", "resnet18", "--size", "64"});
  CHECK_THAT(layers, Catch::Contains("64x32x32") && Catch::Contains("one image of 64 px"));
}

TEST_CASE("the list of models is limited to names, or to those that contain a word") {
  const auto names = [](std::vector<std::string> words) {
    words.insert(words.begin(), {"models", "--json"});
    std::vector<std::string> found;
    for (const auto& model : nlohmann::json::parse(test::run_shoal(words).out))
      found.push_back(model.at("name"));
    return found;
  };
  CHECK(names({"mobilenet_v3"}) ==
        std::vector<std::string>{"mobilenet_v3_large", "mobilenet_v3_small"});
  // An exact name selects only this model, although mobilenet_v2_050 contains the name, too.
  CHECK(names({"mobilenet_v2"}) == std::vector<std::string>{"mobilenet_v2"});
  CHECK(names({"resnet18", "v3_small"}) ==
        std::vector<std::string>{"resnet18", "mobilenet_v3_small"});
  CHECK(names({"resnet18", "resnet1", "resnet18"}) ==
        std::vector<std::string>{"resnet18", "resnet101", "resnet152"});
  const auto unknown = test::run_shoal({"models", "resnte50"});
  CHECK(unknown.exit_code == 2);
  CHECK_THAT(unknown.err, Catch::Contains("resnte50") && Catch::Contains("did you mean resnet50?"));
}

TEST_CASE("options without effect are warned about, one line for each") {
  const test::TemporaryDirectory directory;
  test::make_images(directory.path() / "data", 32, 16, 2, 48);
  const auto run = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"train",
                                      "--data",
                                      (directory.path() / "data").string(),
                                      "--output",
                                      (directory.path() / "run").string(),
                                      "--model",
                                      "mobilenet_v3_small",
                                      "--size",
                                      "32",
                                      "--batch-size",
                                      "8",
                                      "--log-level",
                                      "warning"};
    words.insert(words.end(), more.begin(), more.end());
    const auto outcome = test::run_shoal(words);
    INFO(outcome.err);
    REQUIRE(outcome.exit_code == 0);
    std::vector<std::string> options;
    for (const std::string& line : lines_of(outcome.err)) {
      const auto begin = line.find("--"), end = line.find(" has no effect");
      if (end != line.npos) options.push_back(line.substr(begin, end - begin));
    }
    return options;
  };
  CHECK(run({"--max-steps", "1", "--lr", "0.01"}).empty());
  CHECK(run({"--resume", "--max-steps", "2", "--weights", "none.pt", "--alpha", "0.5", "--gpu",
             "0"}) == std::vector<std::string>{"--gpu", "--weights", "--alpha"});
  CHECK(run({"--resume", "--eval-only", "--export-dir", "model"}) ==
        std::vector<std::string>{"--export-dir"});
}
