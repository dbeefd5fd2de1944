// Tests how a reporter reports the utilization of the host: metric lines, history, summary,
// TensorBoard.

#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>

#include "tests/support/event_file.h"
#include "tests/support/program.h"
#include "tests/support/temporary_directory.h"
#include "tests/train/report/report_support.h"
#include "train/report/reporter.h"

using namespace shoal;
using namespace shoal::train;
using nlohmann::json;
using test::step_report;
namespace fs = std::filesystem;

namespace {

// Keeps one core busy until this process has used another `seconds` of CPU time.
void compute(double seconds) {
  const std::clock_t end = std::clock() + static_cast<std::clock_t>(seconds * CLOCKS_PER_SEC);
  while (std::clock() < end) {
  }
}

// A number in a metric line.
double number_in(const std::string& line, const std::string& name) {
  std::smatch found;
  REQUIRE(std::regex_search(line, found, std::regex(name + "=([0-9.]+);")));
  return std::stod(found[1]);
}

// A run whose clock the test sets.
struct MeasuredRun {
  MeasuredRun() {
    job.tensorboard = job.output + "/events";
    reporter.emplace(job, 0, 0, [this] { return now; });
    start = now = SteadyClock::now();
  }

  void at(double seconds) {
    now = start +
          std::chrono::duration_cast<SteadyClock::duration>(std::chrono::duration<double>(seconds));
  }
  void train(int64_t step) { reporter->progress({1, step, step, 0, {}, 0}); }
  void evaluate_batch(int64_t batch) {
    reporter->evaluation_progress({1, 10, batch, 9, 0.5, 0.25, {6, 3, 4, 4, 0}, {12, 6, 8, 8, 0}});
  }

  // Returns the utilization of each row of the history; null for rows without it.
  std::vector<json> rows() const {
    std::vector<json> found;
    for (const json& row : test::rows(fs::path(job.output) / "history.jsonl"))
      found.push_back(row.at("timing").value("utilization", json()));
    return found;
  }
  // Returns the steps of the points of a curve.
  std::vector<int64_t> points(const std::string& tag) const {
    std::vector<int64_t> steps;
    for (const test::EventValue& value : test::read_event_file(job.tensorboard))
      if (value.tag == tag) steps.push_back(value.step);
    return steps;
  }

  const test::TemporaryDirectory folder;
  ResolvedJob job = test::job_in(folder.path());
  SteadyClock::time_point start, now;
  std::optional<Reporter> reporter;
};

using Steps = std::vector<int64_t>;

}  // namespace

TEST_CASE("the utilization is a metric line every 10 s, also between printed steps") {
  MeasuredRun run;
  {
    const test::Redirected out(STDOUT_FILENO, run.folder.path() / "out");
    run.reporter->start({"fresh start", {"cat"}});
    for (int64_t step = 1; step <= 8; ++step) {  // steps of 4 s
      run.at(4.0 * static_cast<double>(step));
      run.train(step);
    }
    run.at(43);
    run.reporter->measure(1, 10);  // in an evaluation
    run.reporter->measure(1, 10);
  }
  std::vector<std::string> lines;
  for (const std::string& line : test::lines_of(test::read_text(run.folder.path() / "out")))
    if (line.starts_with("util:")) lines.push_back(line);
  REQUIRE(lines.size() == 3);
  CHECK_THAT(lines[0], Catch::EndsWith("epoch=1; step=3;"));   // after 12 s
  CHECK_THAT(lines[1], Catch::EndsWith("epoch=1; step=6;"));   // 24 s
  CHECK_THAT(lines[2], Catch::EndsWith("epoch=1; step=10;"));  // 43 s
  for (const std::string& line : lines) {
    CHECK(number_in(line, "util:memory_gb") > 0.001);
    CHECK(number_in(line, "util:memory_percent") > 0);
  }
}

TEST_CASE("rows of the history contain the mean utilization since the previous such row") {
  MeasuredRun run;
  std::vector<std::string> lines;
  {
    const test::Redirected out(STDOUT_FILENO, run.folder.path() / "out");
    run.reporter->start({"fresh start", {"cat"}});
    run.reporter->step(step_report(1));  // too early for a reading
    compute(0.2);
    run.at(10);
    run.train(2);
    run.at(20);
    run.train(3);
    run.reporter->step(step_report(3));  // two readings
    run.at(25);
    run.train(4);
    run.reporter->step(step_report(4));
    run.at(30);
    run.reporter->measure(1, 10);
    run.evaluate_batch(1);
    run.evaluate_batch(2);
  }
  for (const std::string& line : test::lines_of(test::read_text(run.folder.path() / "out")))
    if (line.starts_with("util:")) lines.push_back(line);
  REQUIRE(lines.size() == 3);
  const auto rows = run.rows();
  REQUIRE(rows.size() == 5);
  for (const size_t without : {0, 2, 4}) CHECK(rows[without].is_null());
  const double computed = number_in(lines[0], "util:cpu_cores");
  CHECK(computed > 0.01);  // about 0.2 s / 10 s, rounded to clock ticks
  CHECK(rows[1].at("cpu_cores").get<double>() ==
        Approx((computed + number_in(lines[1], "util:cpu_cores")) / 2).margin(1e-5));
  CHECK(rows[1].at("memory_gb").get<double>() ==
        Approx(number_in(lines[1], "util:memory_gb")).margin(1e-6));
  CHECK(rows[3].at("cpu_cores").get<double>() ==
        Approx(number_in(lines[2], "util:cpu_cores")).margin(1e-6));
  CHECK(rows[3].at("memory_gb").get<double>() ==
        Approx(number_in(lines[2], "util:memory_gb")).margin(1e-6));
}

TEST_CASE("the summary contains the mean utilization of the run") {
  MeasuredRun run;
  compute(0.2);
  run.at(100);
  run.train(1);
  run.reporter->step(step_report(1));
  run.at(200);
  run.reporter->end({"complete", "", 1, 1, 200, {}, {}, {}});
  const json summary = json::parse(test::read_text(fs::path(run.job.output) / "summary.json"));
  const json& used = summary.at("utilization");
  const double in_first_half = run.rows().at(0).at("cpu_cores");
  CHECK(in_first_half > 0.001);
  CHECK(used.at("cpu_cores").get<double>() == Approx(in_first_half / 2).margin(1e-3));
  CHECK(used.at("memory_gb") > 0.001);
  CHECK(used.at("memory_percent") > 0);
}

TEST_CASE("TensorBoard's curves of the utilization have each row of the history once") {
  MeasuredRun run;
  run.reporter->start({"fresh start", {"cat"}});
  run.at(10);
  run.train(5);
  run.reporter->step(step_report(5));
  run.reporter->step(step_report(6));
  run.at(20);
  run.reporter->measure(1, 10);
  run.evaluate_batch(1);
  run.evaluate_batch(2);
  for (const char* tag : {"utilization/memory_gb", "utilization/cpu_cores"})
    CHECK(run.points(tag) == Steps{5, 10});
  CHECK(run.points("test/loss").empty());
  CHECK(run.points("test_timing/batch").empty());

  const int64_t lines = run.reporter->history_lines();
  run.reporter.reset();
  Reporter resumed(run.job, 0, lines);
  resumed.start({"checkpoint", {"cat"}, 1, 10});
  CHECK(run.points("utilization/memory_gb") == Steps{5, 10});
  CHECK(run.points("test/loss").empty());
}
