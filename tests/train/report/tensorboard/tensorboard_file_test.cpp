#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <set>

#include "tests/support/event_file.h"
#include "tests/support/program.h"
#include "tests/support/temporary_directory.h"
#include "tests/train/report/report_support.h"
#include "train/report/history_file.h"
#include "train/report/reporter.h"
#include "train/report/tensorboard/event_records.h"
#include "train/report/tensorboard/histogram.h"
#include "train/report/utc_time.h"

using namespace shoal;
using namespace shoal::train;
using test::EventValue;
using test::step_report;
namespace fs = std::filesystem;

namespace {

ResolvedJob job_with_tensorboard(const fs::path& folder) {
  ResolvedJob job = test::job_in(folder);
  job.tensorboard = (fs::path(job.output) / "events").string();
  return job;
}

EvaluationReport evaluation_at(int64_t step) {
  EvaluationReport report;
  report.epoch = 1;
  report.step = step;
  report.sum = {6, 3, 4, 4, 1};
  report.seconds = 2;
  return report;
}

// Three 2×1 images: two with a red and a blue pixel, one gray.
ImageGrid grid_at(const std::string& tag, int64_t step) {
  return {.tag = tag,
          .step = step,
          .height = 1,
          .width = 2,
          .images = {{255, 0, 0, 0, 0, 255}, {255, 0, 0, 0, 0, 255}, {9, 9, 9, 9, 9, 9}}};
}

std::vector<EventValue> of_tag(const std::vector<EventValue>& values, const std::string& tag) {
  std::vector<EventValue> found;
  for (const EventValue& value : values)
    if (value.tag == tag) found.push_back(value);
  return found;
}

std::vector<int64_t> steps_of(const std::vector<EventValue>& values, const std::string& tag) {
  std::vector<int64_t> steps;
  for (const EventValue& value : of_tag(values, tag)) steps.push_back(value.step);
  return steps;
}

using Steps = std::vector<int64_t>;

}  // namespace

TEST_CASE("records equal those of TensorBoard's own writer") {
  std::vector<SavedSetting> rate(1), model(1);
  rate[0].name = "lr", rate[0].value = "0.5";
  model[0].name = "model", model[0].value = "resnet18";
  // The times in the hyperparameter records are 0, as in the golden file.
  const std::string written =
      first_records() +
      scalar_record(1764000000.25, 3000, {{"train/loss", 0.1}, {"train/acc1", 0}}) +
      histogram_record(7, {{"weights/fc", -1, 3, 4, 12, {1, 0, 2, 1}}}) +
      text_record("settings", "    resnet18 é") + hparams_record(rate, 0) +
      hparams_record(model, 0) + hparams_end_record("failed", 0);
  const std::string golden = test::read_text(SHOAL_SOURCE_DIR "/tests/golden/tensorboard.tfevents");
  const auto got = test::timeless_records(written), expected = test::timeless_records(golden);
  REQUIRE(got.size() == 8);
  REQUIRE(expected.size() == got.size());
  for (size_t i = 0; i < got.size(); ++i) {
    INFO("record " << i);
    CHECK(got[i] == expected[i]);
  }
  const std::string scalars =
      scalar_record(1764000000.25, 3000, {{"train/loss", 0.1}, {"train/acc1", 0}});
  CHECK(golden.find(scalars) != golden.npos);  // compares time, length and checksums too
}

TEST_CASE("a run's reports are curves, images, histograms, settings and hyperparameters") {
  const test::TemporaryDirectory folder;
  const ResolvedJob job = job_with_tensorboard(folder.path());
  {
    Reporter reporter(job, 0, 0);
    reporter.start({"fresh start", {"cat"}, 0, 0, {}, {{"features.0", 0.5}, {"classifier", 2}}});
    reporter.images(grid_at("train/images", 0));
    reporter.step(step_report(10));
    reporter.event({"loss_spike", 10, {{"loss", 4}}});
    reporter.event({"slower", 10, {{"step_time", 1}}, /*in_history=*/false});
    const std::vector<float> weights = {-1, 0, 3};
    reporter.histograms(10, {make_histogram("weights/fc", weights)});
    reporter.evaluation_progress({1, 10, 2, 3, 0.5, 0.25, {6, 3, 4, 4, 0}, {12, 6, 8, 8, 0}});
    reporter.evaluation(evaluation_at(10));
    RunEnd end;
    end.outcome = "complete";
    end.best = Evaluated{75, 1, 10};
    reporter.end(end);
  }
  const auto values = test::read_event_file(job.tensorboard);
  const std::vector<std::pair<std::string, double>> scalars = {{"train/loss", 2},
                                                               {"train/acc1", 25},
                                                               {"train/lr", 0.25},
                                                               {"train_timing/step", 0},
                                                               {"learning_rate/features.0", 0.125},
                                                               {"learning_rate/classifier", 0.5},
                                                               {"loss_spike/loss", 4},
                                                               {"valid/loss", 1.5},
                                                               {"valid/acc1", 75},
                                                               {"valid_timing/seconds", 2},
                                                               {"best/acc1", 75}};
  for (const auto& [tag, number] : scalars) {
    INFO(tag);
    const auto found = of_tag(values, tag);
    REQUIRE(found.size() == 1);
    CHECK(found[0].kind == "scalar");
    CHECK(found[0].number == number);
    CHECK(found[0].step == 10);
    CHECK(found[0].time == Approx(wall_time()).margin(600));
  }
  for (const EventValue& value : values) {
    CHECK_FALSE(value.tag.starts_with("slower"));
    CHECK_FALSE(value.tag.starts_with("test"));
  }
  const auto image = of_tag(values, "train/images");
  REQUIRE(image.size() == 1);
  CHECK(image[0].bytes.substr(0, 3) == "\xff\xd8\xff");  // JPEG
  CHECK(of_tag(values, "weights/fc").at(0).number == 3);
  CHECK_THAT(of_tag(values, "settings").at(0).bytes, Catch::Contains("seed=5"));
  CHECK_THAT(of_tag(values, "_hparams_/session_start_info").at(0).bytes, Catch::Contains("amp"));
  CHECK(of_tag(values, "_hparams_/session_end_info").size() == 1);
}

TEST_CASE("a resumed run has no point twice, with its old event file or without") {
  const test::TemporaryDirectory folder;
  const ResolvedJob job = job_with_tensorboard(folder.path());
  const auto report = [](Reporter& reporter, int64_t step) {
    reporter.step(step_report(step));
    reporter.histograms(step, {{"weights/fc", 0, 1, 1, 1, {1}}});
  };
  double first_time = 0;
  {
    Reporter killed(job, 0, 0);
    killed.start({"fresh start", {}});
    killed.images(grid_at("train/images", 0));
    for (int64_t step : {1, 2}) report(killed, step);
    killed.evaluation(evaluation_at(2));
    killed.images(grid_at("valid/worst", 2));
    // The newest checkpoint is from step 3, before the evaluation at step 3. The
    // checkpoint's history has four lines: steps 1, 2 and 3, and the evaluation at step 2.
    report(killed, 3);
    killed.evaluation(evaluation_at(3));
    killed.images(grid_at("valid/worst", 3));
    report(killed, 4);
    first_time = of_tag(test::read_event_file(job.tensorboard), "train/loss").at(0).time;
  }
  {
    Reporter resumed(job, 0, 4);
    resumed.start({"checkpoint", {}, 0, 3});
    CHECK(steps_of(test::read_event_file(job.tensorboard), "valid/worst") == Steps{2});
    resumed.evaluation(evaluation_at(3));
    resumed.images(grid_at("valid/worst", 3));
    report(resumed, 4);
  }
  const auto values = test::read_event_file(job.tensorboard);
  for (const char* tag : {"train/loss", "weights/fc"})
    CHECK(steps_of(values, tag) == Steps{1, 2, 3, 4});
  for (const char* tag : {"valid/loss", "valid/worst"}) CHECK(steps_of(values, tag) == Steps{2, 3});
  CHECK(steps_of(values, "train/images") == Steps{0});
  CHECK(steps_of(values, "settings").size() == 1);
  CHECK(of_tag(values, "train/loss").at(0).time == Approx(first_time).margin(1));

  // As in a new container, which has only the checkpoints and the history beside them.
  fs::remove_all(job.tensorboard);
  {
    Reporter resumed(job, 0, 6);
    resumed.start({"checkpoint", {}, 0, 4});
    resumed.images(grid_at("train/images", 0));
  }
  CHECK(steps_of(test::read_event_file(job.tensorboard), "train/loss") == Steps{1, 2, 3, 4});

  // A new run in the same folder.
  {
    Reporter fresh(job, 0, 0);
    fresh.start({"fresh start", {}});
    report(fresh, 1);
  }
  CHECK(steps_of(test::read_event_file(job.tensorboard), "weights/fc") == Steps{1});
  CHECK(steps_of(test::read_event_file(job.tensorboard), "train/images").empty());
  // The old file is kept under a name that TensorBoard does not read.
  int superseded = 0;
  for (const auto& entry : fs::directory_iterator(job.tensorboard))
    superseded += entry.path().filename().string().starts_with("superseded-");
  CHECK(superseded == 1);
}

TEST_CASE("runs that share a folder outside of their output keep each other's files") {
  const test::TemporaryDirectory first_folder, second_folder, shared;
  ResolvedJob first = job_with_tensorboard(first_folder.path());
  ResolvedJob second = job_with_tensorboard(second_folder.path());
  first.tensorboard = second.tensorboard = shared.path();
  const auto run = [](const ResolvedJob& job, int64_t from) {
    Reporter reporter(job, 0, from);
    reporter.start({from > 0 ? "checkpoint" : "fresh start", {}, 0, from});
    reporter.step(step_report(from + 1));
  };
  run(first, 0);
  run(second, 0);
  run(first, 1);
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(shared.path()))
    names.push_back(entry.path().filename());
  REQUIRE(names.size() == 2);
  for (const std::string& name : names) CHECK(name.starts_with("events.out.tfevents."));
}

TEST_CASE("damaged lines of the history cost their points, and nothing else") {
  const test::TemporaryDirectory folder;
  const ResolvedJob job = job_with_tensorboard(folder.path());
  {
    Reporter killed(job, 0, 0);
    killed.start({"fresh start", {}});
    for (const int64_t step : {1, 2, 3, 4, 5}) killed.step(step_report(step));
  }
  const fs::path history = fs::path(job.output) / kHistoryFile;
  auto lines = test::lines_of(test::read_text(history));
  REQUIRE(lines.size() == 5);
  lines[1] = "{garbled}";
  lines[2] = "{\"a\":" + std::string(200000, '[') + "}";
  lines[3] = R"({"event": 3, "step": {}})";
  {
    std::ofstream out(history);
    for (const std::string& line : lines) out << line << "\n";
  }
  fs::remove_all(job.tensorboard);
  Reporter resumed(job, 0, 5);
  CHECK_THAT(test::stderr_of([&] {
               resumed.start({"checkpoint", {}, 0, 5});
             }),
             Catch::Contains("3 unreadable lines"));
  CHECK(steps_of(test::read_event_file(job.tensorboard), "train/loss") == Steps{1, 5});
}

TEST_CASE("an event file with a damaged end keeps the records before it, and other files stay") {
  const test::TemporaryDirectory folder;
  const ResolvedJob job = job_with_tensorboard(folder.path());
  {
    Reporter killed(job, 0, 0);
    killed.start({"fresh start", {}});
    killed.step(step_report(1));
    killed.images(grid_at("train/images", 0));
    killed.images(grid_at("train/images", 1));
  }
  const fs::path file = fs::directory_iterator(job.tensorboard)->path();
  fs::resize_file(file, fs::file_size(file) - 10);
  {
    Reporter resumed(job, 0, 1);
    resumed.start({"checkpoint", {}, 0, 1});
  }
  CHECK(steps_of(test::read_event_file(job.tensorboard), "train/images") == Steps{0});
  const fs::path other = fs::path(job.tensorboard) / "events.out.tfevents.1764000000.host";
  std::ofstream(other) << "x";
  const fs::path killed = fs::path(job.tensorboard) / ".events.out.tfevents.1764000000.shoal.part";
  std::ofstream(killed) << "half";
  {
    Reporter resumed(job, 0, 1);
    resumed.start({"checkpoint", {}, 0, 1});
  }
  CHECK(fs::exists(other));
  CHECK_FALSE(fs::exists(killed));
}

TEST_CASE("a folder for TensorBoard that cannot be made ends the run at its start") {
  const test::TemporaryDirectory folder;
  ResolvedJob job = job_with_tensorboard(folder.path());
  std::ofstream(folder.path() / "file") << "x";
  job.tensorboard = (folder.path() / "file/events").string();
  Reporter reporter(job, 0, 0);
  CHECK_THROWS_WITH(reporter.start({"fresh start", {}}), Catch::Contains("file/events"));
  job.tensorboard = "";
  Reporter(job, 0, 0).start({"fresh start", {}});
}

TEST_CASE("a histogram counts every finite value once") {
  const std::vector<float> values = {0, 1, 1, 64, std::numeric_limits<float>::infinity(), -64};
  const Histogram histogram = make_histogram("x", values);
  CHECK(histogram.min == -64);
  CHECK(histogram.max == 64);
  CHECK(histogram.sum == 2);
  CHECK(histogram.sum_of_squares == 2 * 64 * 64 + 2);
  REQUIRE(histogram.counts.size() == 64);
  CHECK(histogram.counts.front() == 1);
  CHECK(histogram.counts.back() == 1);
  CHECK(histogram.counts[32] == 3);  // from 0 to below 2
  const std::vector<float> equal(5, 0.5f);
  CHECK(make_histogram("x", equal).counts.front() == 5);
}
