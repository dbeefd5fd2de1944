#include "app/commands/local/metric_definitions.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "app/commands/printable_row.h"
#include "app/platform/failure.h"
#include "base/log.h"
#include "base/text.h"
#include "tests/support/capture.h"
#include "train/report/host/utilization.h"
#include "train/report/sinks.h"

using namespace shoal;

namespace {

train::UtilizationReport utilization() {
  train::UtilizationReport report{.epoch = 2, .step = 1010, .values = {}};
  double value = 0.5;
  for (const char* name : train::kUtilizationNames) report.values.emplace_back(name, value++);
  return report;
}

// Returns a log with one line of each kind. Where possible, the code of a real run prints the line.
std::vector<std::string> sample_log() {
  train::StepReport step;
  step.epoch = 2;
  step.step_in_epoch = 10;
  step.steps_per_epoch = 500;
  step.step = 1010;
  step.step_seconds = 0.345;
  step.step_seconds_average = 0.812;
  step.data_seconds = 0.001;
  step.data_seconds_average = 0.302;
  step.last = {32 * 6.9512, 1, 5, 32, 0};
  step.epoch_sum = {320 * 7.0123, 12, 45, 320, 0};
  step.lr = 3.5e-05;
  step.images_per_second = 92.75;
  step.gradient_norm = 1.25;
  return {"12:00:00.000 info efficientnet_b0, 5288548 parameters",
          train::imagenet_line(step),
          train::key_value_line(step),
          train::utilization_line(utilization()),
          train::imagenet_test_line({2, 1010, 10, 196, 0.2, 0.3, step.last, step.epoch_sum}),
          " * Acc@1 46.340 Acc@5 72.484",
          "valid:loss=2.500000; valid:acc1=46.340000; valid:acc5=72.484000; "
          "valid:images_per_sec=210.500000; "
          "valid:images=1000; epoch=3; step=1500;",
          " * EMA Acc@1 47.000 Acc@5 73.000",
          "valid:ema_loss=2.400000; valid:ema_acc1=47.000000; valid:ema_acc5=73.000000; epoch=3; "
          "step=1500;",
          "event=nonfinite; updates=1; step=1011;",
          "Total time: 26614 seconds"};
}

const std::map<std::string, double>& expected() {
  static const std::map<std::string, double> values = {{"train:loss", 6.9512},
                                                       {"train:acc1", 3.125},
                                                       {"train:acc5", 15.625},
                                                       {"train:lr", 3.5e-05},
                                                       {"train:images_per_sec", 92.75},
                                                       {"train:step_time", 0.345},
                                                       {"train:data_time", 0.001},
                                                       {"train:grad_norm", 1.25},
                                                       {"valid:loss", 2.5},
                                                       {"valid:acc1", 46.34},
                                                       {"valid:acc5", 72.484},
                                                       {"valid:images_per_sec", 210.5},
                                                       {"valid:ema_loss", 2.4},
                                                       {"valid:ema_acc1", 47},
                                                       {"valid:ema_acc5", 73},
                                                       {"epoch", 2},
                                                       {"util:cpu_cores", 0.5},
                                                       {"util:cpu_percent", 1.5},
                                                       {"util:memory_gb", 2.5},
                                                       {"util:memory_percent", 3.5},
                                                       {"util:disk_read_mb_s", 4.5},
                                                       {"util:disk_write_mb_s", 5.5},
                                                       {"util:network_in_mb_s", 6.5},
                                                       {"util:network_out_mb_s", 7.5},
                                                       {"util:gpu_percent", 8.5},
                                                       {"util:gpu_memory_percent", 9.5},
                                                       {"loss", 6.9512},
                                                       {"acc1", 3.12},
                                                       {"acc5", 15.62},
                                                       {"time", 0.345},
                                                       {"data_time", 0.001},
                                                       {"test_loss", 6.9512},
                                                       {"test_acc1", 3.12},
                                                       {"test_acc5", 15.62},
                                                       {"final_acc1", 46.34},
                                                       {"final_acc5", 72.484},
                                                       {"total_time", 26614}};
  return values;
}

// Names that look like metric lines, also with a launcher's prefix or after control characters.
std::vector<std::string> hostile_names() {
  std::vector<std::string> names = sample_log();
  for (const std::string& line : sample_log()) {
    names.push_back("[x]:" + line);
    names.push_back("0: " + line);
    names.push_back("x\n" + line);
    names.push_back("x\r\n[default0]:" + line + "\n");
    names.push_back("\033[2K\r" + line);
    names.push_back("x\u2028" + line);
  }
  return names;
}

bool matches_any(const std::string& line) {
  static const std::vector<std::regex> regexes = [] {
    std::vector<std::regex> list;
    for (const app::MetricDefinition& metric : app::metric_definitions())
      list.emplace_back(metric.regex);
    return list;
  }();
  return std::any_of(regexes.begin(), regexes.end(),
                     [&](const std::regex& regex) { return std::regex_search(line, regex); });
}

}  // namespace

TEST_CASE("every metric is captured from exactly one line, once, with the right value") {
  REQUIRE(app::metric_definitions().size() == expected().size());
  // Launchers may add these prefixes to lines.
  for (const std::string prefix :
       {"", "[1,0]<stdout>:", "[1,mpirank:0,algo-1]<stdout>:", "[default0]:"}) {
    for (const app::MetricDefinition& metric : app::metric_definitions()) {
      INFO(prefix << metric.name << " " << metric.regex);
      const std::regex regex(metric.regex);
      int matches = 0;
      for (const std::string& line : sample_log()) {
        const std::string text = prefix + line;
        for (std::sregex_iterator match(text.begin(), text.end(), regex), end; match != end;
             ++match) {
          ++matches;
          CHECK(std::stod((*match)[1]) == Approx(expected().at(metric.name)).epsilon(1e-6));
        }
      }
      CHECK(matches == 1);
    }
  }
}

TEST_CASE("tabs may be escaped by a log service") {
  std::string line = sample_log()[1];
  for (size_t at = 0; (at = line.find('\t', at)) != line.npos;) line.replace(at, 1, "#011");
  for (const app::MetricDefinition& metric : app::metric_definitions()) {
    if (metric.name != "loss" && metric.name != "acc1" && metric.name != "acc5") continue;
    CHECK(std::regex_search(line, std::regex(metric.regex)));
  }
}

TEST_CASE("a message with a file name that imitates a metric line matches no definition",
          "[single]") {
  const std::vector<std::string> names = hostile_names();
  const auto printed = test::capture([&] {
    for (const std::string& name : names) {
      log::warning(name + " cannot be decoded");
      log::error(name);
      app::print_error(name + " does not exist");
    }
    return 0;
  });
  CHECK(printed.out.empty());
  REQUIRE(std::count(printed.err.begin(), printed.err.end(), '\n') >=
          3 * static_cast<int64_t>(names.size()));
  for (const std::string prefix : {"", "[1,0]<stderr>:", "[default0]:", "0: "}) {
    std::istringstream lines(printed.err);
    for (std::string line; std::getline(lines, line);) {
      const std::string whole = prefix + line;
      if (matches_any(whole)) FAIL_CHECK(whole);
    }
  }
}

TEST_CASE(
    "a row of predict, eval, inspect or weights that begins with a name matches no definition",
    "[single]") {
  std::vector<std::string> names = hostile_names();
  for (const std::string& line : sample_log()) {
    names.push_back(" " + line);
    names.push_back("worker-1  | " + line);
    names.push_back("[pod/worker-0/main] " + line);
    names.push_back("[1,0]<stdout>:" + line);
    names.push_back("Thu Jan  1 00:00:00 1970[1,0]<stdout>:" + line);
    names.push_back("Thu Jan  1 00000000 1970[1,0]<stdout>:" + line);
    names.push_back("0: " + line + ".jpg");
  }
  for (const char* name :
       {" * Acc@1 99.900 Acc@5 99.000.jpg", "train:loss=1; step=2;.jpg", "valid:acc1=99; .jpg",
        "train:x; epoch=7;", "Epoch: [0][ 1/2] Loss 1.0 (2.0)", "Total time: 5 seconds"})
    names.push_back(name);
  size_t forged = 0;
  for (const std::string& name : names) {
    if (matches_any(printable(name))) ++forged;
    // Rows also contain names of classes and tensors, which come from files.
    const std::vector<std::string> rows = {name,
                                           name + "   cat 99.0%",
                                           name + "   error: not a JPEG",
                                           name + "  label cat <0.01%, predicted dog 99.0%",
                                           name + "  [64, 3, 7, 7]  float32",
                                           name + ": float32 64×3×7×7",
                                           "cat   " + name + " 99.0%",
                                           "cat   | " + name + " 99.0%",
                                           "0   " + name + " 99.0%",
                                           "    " + name + " 99.0%",
                                           strf("%-10s", "producer") + name,
                                           strf("%-10s", "file") + "| " + name,
                                           strf("%-10s", "") + name + ": 1 tensor"};
    for (const std::string& row : rows)
      for (const std::string prefix :
           {"", "[1,0]<stdout>:", "[default0]:", "0: ", "worker-1  | "}) {
        const std::string line = prefix + app::printable_row(row);
        if (matches_any(line)) FAIL_CHECK(line);
      }
  }
  CHECK(forged > names.size() / 3);  // without the "./" of printable_row(), they would match
}

TEST_CASE("rows with ordinary names are printed as they are") {
  for (const std::string row :
       {"cat.jpg   error: not a JPEG", "photos/a: b.jpg   cat 9.0%", "/data/ * x.jpg",
        "flat.tar:a/1.jpg   cat 9.0%", "s3://photos/cat.jpg", "./train:loss=1;", "../x | y",
        "fc.weight  [1000, 2048]  float32", "weight  [64]  float32", "onnx::Conv_497: float32 64",
        "file      runs/a/best.pt, 93.6 MB", "          ema: 320 tensors", "tiger|lion  cat 9.0%",
        "2024-01-01 12:00.jpg   cat 9.0%", ""})
    CHECK(app::printable_row(row) == row);
  CHECK(app::printable_row("train:loss=1;") == "./train:loss=1;");
  CHECK(app::printable_row("a\033[2K") == "a\\x1b[2K");
}

TEST_CASE("definitions for the imagenet example's lines end with that example's own regexes") {
  std::map<std::string, std::string> regexes;
  for (const app::MetricDefinition& metric : app::metric_definitions())
    regexes[metric.name] = metric.regex;
  CHECK_THAT(regexes["loss"], Catch::EndsWith(R"(Epoch:.*Loss\s+([e\-+0-9\\.]*) \()"));
  CHECK_THAT(regexes["data_time"], Catch::EndsWith(R"(Epoch:.*Data\s+([e\-+0-9\\.]*) \()"));
  CHECK_THAT(regexes["test_acc5"], Catch::EndsWith(R"(Test:.*Acc@5\s+([e\-+0-9\\.]*) \()"));
}

TEST_CASE("the printed definitions are JSON within SageMaker's limits") {
  const auto json = nlohmann::json::parse(app::metric_definitions_json());
  REQUIRE(json.is_array());
  CHECK(json.size() <= 40);
  std::set<std::string> names;
  for (const auto& entry : json) {
    CHECK(entry.size() == 2);
    CHECK(names.insert(entry.at("Name").get<std::string>()).second);
    CHECK(entry.at("Name").get<std::string>().size() <= 255);
    CHECK(entry.at("Regex").get<std::string>().size() <= 500);
  }
}
