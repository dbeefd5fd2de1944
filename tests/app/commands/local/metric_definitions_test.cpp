#include "app/commands/local/metric_definitions.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "app/platform/failure.h"
#include "base/log.h"
#include "tests/support/capture.h"
#include "train/report/host/utilization.h"
#include "train/report/sinks.h"

using namespace shoal;

namespace {

train::StepReport with_utilization(train::StepReport step) {
  double value = 0.5;
  for (const char* name : train::kUtilizationNames) step.utilization.emplace_back(name, value++);
  return step;
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
          train::utilization_line(with_utilization(step)),
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
  std::vector<std::string> names = sample_log();
  for (const std::string& line : sample_log()) {
    names.push_back("[x]:" + line);
    names.push_back("0: " + line);
    names.push_back("x\n" + line);
    names.push_back("x\r\n[default0]:" + line + "\n");
    names.push_back("\033[2K\r" + line);
    names.push_back("x\u2028" + line);
  }
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
  std::vector<std::regex> regexes;
  for (const app::MetricDefinition& metric : app::metric_definitions())
    regexes.emplace_back(metric.regex);
  for (const std::string prefix : {"", "[1,0]<stderr>:", "[default0]:", "0: "}) {
    std::istringstream lines(printed.err);
    for (std::string line; std::getline(lines, line);) {
      const std::string whole = prefix + line;
      const bool matches = std::any_of(regexes.begin(), regexes.end(), [&](const auto& regex) {
        return std::regex_search(whole, regex);
      });
      if (matches) FAIL_CHECK(whole);
    }
  }
}

TEST_CASE("the eight definitions of the imagenet example follow the pattern for a line's start") {
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
