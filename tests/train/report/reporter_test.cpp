#include "train/report/reporter.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/support/program.h"
#include "tests/support/temporary_directory.h"
#include "tests/train/report/report_support.h"
#include "train/report/history_file.h"
#include "train/report/sinks.h"

using namespace shoal;
using namespace shoal::train;
using Catch::Matchers::Contains;
using test::evaluation_report;
using test::job_in;
using test::Redirected;
using test::rows;
using test::step_report;
namespace fs = std::filesystem;

namespace {

using Json = nlohmann::json;

std::vector<std::string> events(const std::vector<Json>& rows) {
  std::vector<std::string> names;
  for (const Json& row : rows) names.push_back(row.at("event"));
  return names;
}

}  // namespace

TEST_CASE("a run's reports reach the history, the summary and the classes") {
  const test::TemporaryDirectory folder;
  const ResolvedJob job = job_in(folder.path());
  Reporter reporter(job, 0, 0);
  reporter.start({"fresh start", {"cat", "dog"}});
  reporter.step(step_report(10));
  reporter.event({"loss_spike", 10, {{"loss", 4}, {"median", 2}}});
  reporter.event({"slower", 10, {{"step_time", 1}}, /*in_history=*/false});
  reporter.evaluation_progress({1, 10, 2, 3, 0.5, 0.25, {6, 3, 4, 4, 0}, {12, 6, 8, 8, 0}});
  reporter.evaluation(evaluation_report(false));
  reporter.evaluation(evaluation_report(true));
  CHECK(reporter.history_lines() == 5);
  RunEnd end;
  end.outcome = "stopped";
  end.epoch = 1;
  end.step = 10;
  end.wait = {10, 1, 20, 5};
  end.best = Evaluated{75, 1, 10};
  end.exported = Exported{"model", true, 1, 10, 75};
  reporter.end(end);

  const auto history = rows(folder.path() / "run/history.jsonl");
  CHECK(events(history) ==
        std::vector<std::string>{"train", "loss_spike", "test", "valid", "valid_ema"});
  for (const Json& row : history) {
    CHECK(row.at("step") == 10);
    CHECK_THAT(row.at("time").get<std::string>(), Catch::EndsWith("Z"));
  }
  CHECK(history[0].at("loss") == 2.0);
  CHECK(history[0].at("loss_average") == 2.5);
  CHECK(history[0].at("acc1") == 25.0);
  CHECK_FALSE(history[0].contains("grad_norm"));  // left out, because it is not finite
  CHECK(history[1].at("median") == 2.0);
  CHECK(history[2].at("batch") == 2);
  CHECK(history[3].at("correct1") == 3);
  CHECK(history[3].at("unreadable") == 1);

  const Json summary = Json::parse(test::read_text(folder.path() / "run/summary.json"));
  CHECK(summary.at("outcome") == "stopped");
  CHECK_FALSE(summary.contains("reason"));
  CHECK(summary.at("train").at("loss") == 2.0);
  CHECK(summary.at("valid").at("event") == "valid");
  CHECK(summary.at("valid_ema").at("event") == "valid_ema");
  CHECK(summary.at("best") == Json{{"acc1", 75}, {"epoch", 1}, {"step", 10}});
  CHECK(summary.at("exported").at("weights") == "best");
  CHECK(summary.at("loader").at("wait_share") == 0.25);
  CHECK(summary.at("world_size") == 2);
  CHECK(summary.at("settings") == Json{{"seed", 5}, {"amp", "off"}});  // 5 is a number

  CHECK(Json::parse(test::read_text(folder.path() / "run/classes.json")) ==
        Json{{"cat", 0}, {"dog", 1}});
}

TEST_CASE("--log-format dllogger adds the lines of NVIDIA's DLLogger") {
  const test::TemporaryDirectory folder;
  ResolvedJob job = job_in(folder.path());
  job.log_format = "dllogger";
  job.global_batch_size = 64;
  {
    const Redirected out(STDOUT_FILENO, folder.path() / "out");
    const Redirected err(STDERR_FILENO, folder.path() / "err");
    Reporter reporter(job, 0, 0);
    reporter.start({"fresh start", {"cat"}});
    StepReport step = step_report(10);
    step.step_seconds = 2;
    step.data_seconds = 0.5;
    step.images_per_second = 32;
    reporter.step(step);
    reporter.evaluation(evaluation_report(false));
    reporter.evaluation(evaluation_report(true));
    reporter.end({});
  }
  std::vector<Json> lines;
  for (const std::string& line : test::lines_of(test::read_text(folder.path() / "out")))
    if (line.starts_with("DLLL ")) lines.push_back(Json::parse(line.substr(5)));
  std::map<std::string, Json> logs;
  for (const Json& line : lines) {
    CHECK(std::stod(line.at("timestamp").get<std::string>()) > 1.7e9);
    CHECK(std::stod(line.at("elapsedtime").get<std::string>()) >= 0);
    CHECK(line.at("datetime").get<std::string>().size() == 23);
    if (line.at("type") == "METADATA")
      CHECK(line.at("metadata").contains("unit"));
    else
      logs[line.at("step").dump()].update(line.at("data"));
  }
  CHECK(logs.size() == 4);
  CHECK(logs.at("\"PARAMETER\"") == Json{{"seed", 5}, {"amp", "off"}});
  const Json& train = logs.at("[1,10]");
  CHECK(train.at("train.loss") == 2.0);
  CHECK(train.at("train.total_ips") == 32.0);
  CHECK(train.at("train.compute_time") == 1.5);
  CHECK(train.at("train.compute_ips").get<double>() == Approx(64 / 1.5));
  CHECK(logs.at("[1]").at("val.top1") == 75.0);
  CHECK(logs.at("[1]").at("val_ema.top1") == 75.0);
  CHECK(logs.at("[]").at("val.loss") == logs.at("[1]").at("val.loss"));
  CHECK(logs.at("[]").at("train.loss") == 2.0);
}

TEST_CASE("reports are metric lines on stdout") {
  const test::TemporaryDirectory folder;
  const ResolvedJob job = job_in(folder.path());
  {
    const Redirected out(STDOUT_FILENO, folder.path() / "out");
    const Redirected err(STDERR_FILENO, folder.path() / "err");
    const auto lines = log_lines(job);
    lines->step(step_report(10));
    lines->event({"loss_spike", 10, {{"loss", 4}, {"median", 2}}});
    lines->evaluation(evaluation_report(false));
    lines->evaluation(evaluation_report(true));
    RunEnd end;
    end.outcome = "complete";
    end.seconds = 12;
    lines->end(end);
    end.outcome = "failed";
    end.seconds = 99;
    lines->end(end);
  }
  const auto out = test::lines_of(test::read_text(folder.path() / "out"));
  REQUIRE(out.size() == 8);
  CHECK(out[0] == imagenet_line(step_report(10)));
  CHECK(out[1] == key_value_line(step_report(10)));
  CHECK(out[2] == "event=loss_spike; loss=4; median=2; step=10;");
  CHECK(out[3] == " * Acc@1 75.000 Acc@5 100.000");
  CHECK(out[4] ==
        "valid:loss=1.500000; valid:acc1=75.000000; valid:acc5=100.000000; "
        "valid:images_per_sec=2.000000; valid:images=4; epoch=1; step=10;");
  CHECK(out[5] == " * EMA Acc@1 75.000 Acc@5 100.000");
  CHECK(out[6] ==
        "valid:ema_loss=1.500000; valid:ema_acc1=75.000000; valid:ema_acc5=100.000000; epoch=1; "
        "step=10;");
  CHECK(out[7] == "Total time: 12 seconds");
  CHECK_THAT(test::read_text(folder.path() / "err"),
             Contains("1 of 5 validation images could not be read"));
}

TEST_CASE("losses that are not finite are left out of lines and history") {
  using Limits = std::numeric_limits<double>;
  const double loss = GENERATE(Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity());
  INFO(loss);
  const test::TemporaryDirectory folder;
  Reporter reporter(job_in(folder.path()), 0, 0);
  StepReport skipped = step_report(1);
  skipped.last = {0, 0, 0, 0, 4};  // the trainer counts images of non-finite steps as skipped
  reporter.step(skipped);
  EvaluationProgress batch;
  reporter.evaluation_progress(batch);
  batch.last = batch.sum = {loss, 0, 0, 4, 0};
  reporter.evaluation_progress(batch);
  CHECK(reporter.history_lines() == 0);

  EvaluationReport evaluation = evaluation_report(false);
  evaluation.sum.loss = loss;
  {
    const Redirected out(STDOUT_FILENO, folder.path() / "out");
    reporter.evaluation(evaluation);
  }
  const std::string out = test::read_text(folder.path() / "out");
  CHECK_THAT(out, Contains("valid:acc1=75.000000;") && !Contains("loss"));
  CHECK_THAT(out, !Contains("nan") && !Contains("inf"));
  REQUIRE(reporter.history_lines() == 1);
  const Json row = Json::parse(reporter.history_text());
  CHECK(row.at("acc1") == 75.0);
  CHECK_FALSE(row.contains("loss"));
}

TEST_CASE("ranks other than 0 write nothing") {
  const test::TemporaryDirectory folder;
  Reporter reporter(job_in(folder.path()), 1, 3);
  reporter.start({"fresh start", {"cat"}});
  reporter.step(step_report(1));
  reporter.end({});
  reporter.end_failed({});
  CHECK(reporter.history_lines() == 0);
  CHECK(fs::is_empty(folder.path()));
}

// If classes_json() searched all earlier classes for each class, this would take minutes.
TEST_CASE("the classes are written in the order of their labels, however many there are",
          "[single]") {
  const std::vector<std::string> few = {"b", "a", "say \"x\""};
  CHECK(classes_json(few) == "{\n \"b\": 0,\n \"a\": 1,\n \"say \\\"x\\\"\": 2\n}");
  std::vector<std::string> many;
  for (int i = 0; i < 400'000; ++i) many.push_back("class " + std::to_string(i));
  CHECK(Json::parse(classes_json(many)).at("class 399999") == 399'999);
}

TEST_CASE("evaluation.json describes the best evaluation of a run") {
  const test::TemporaryDirectory folder;
  ResolvedJob job = job_in(folder.path());
  fs::create_directories(job.output);
  const fs::path file = fs::path(job.output) / "evaluation.json";
  const auto sink = evaluation_file(job);
  sink->start({"fresh start", {"cat", "d\"\x1b"}});
  EvaluationReport report = evaluation_report(true);
  ImageResult image;
  image.label = 1, image.classes[0] = 0, image.probabilities[0] = 0.75F;
  report.figures = classification_of({image, image}, 2);
  report.worst = {{"a/b.jpg", 1, 0, 0.75, std::numeric_limits<double>::quiet_NaN(), "QUJD"}};
  sink->evaluation(report);
  CHECK_FALSE(fs::exists(file));
  report.best = true;
  report.finished_epochs = 3;
  sink->evaluation(report);
  report.best = false;
  report.step = 20;
  sink->evaluation(report);
  const Json json = Json::parse(test::read_text(file));
  CHECK(json.at("format") == 1);
  CHECK(json.at("epoch") == 3);
  CHECK(json.at("step") == 10);
  CHECK(json.at("ema") == true);
  CHECK(json.at("images") == 4);
  CHECK(json.at("top1") == 75);
  CHECK(json.at("loss") == 1.5);
  CHECK(json.at("classes") == Json{"cat", "d\"\x1b"});
  CHECK(json.at("confusion") == Json{{1, 0, 2}});
  CHECK(json.at("calibration").at("ece") == 0.75);
  CHECK(json.at("calibration").at("bins").at(11) ==
        Json{{"confidence", 0.75}, {"accuracy", 0}, {"images", 2}});
  CHECK(json.at("per_class").at(0) ==
        Json{{"images", 0}, {"precision", 0}, {"recall", nullptr}, {"f1", 0}});
  CHECK(json.at("per_class").at(1) ==
        Json{{"images", 2}, {"precision", nullptr}, {"recall", 0}, {"f1", 0}});
  CHECK(json.at("worst").at(0) == Json{{"path", "a/b.jpg"},
                                       {"label", 1},
                                       {"predicted", 0},
                                       {"probability", 0.75},
                                       {"loss", nullptr},
                                       {"thumbnail", "QUJD"}});
  // A run that starts before step 10, the step of the evaluation, removes the file.
  RunStart resumed;
  resumed.step = 10;
  sink->start(resumed);
  CHECK(fs::exists(file));
  resumed.step = 9;
  sink->start(resumed);
  CHECK_FALSE(fs::exists(file));
  job.eval_only = true;
  report.best = true;
  sink->evaluation(report);
  CHECK_FALSE(fs::exists(file));
}

TEST_CASE("an evaluation.json that cannot be written does not end the run") {
  const test::TemporaryDirectory folder;
  const ResolvedJob job = job_in(folder.path());
  EvaluationReport report = evaluation_report(false);
  report.best = true;
  const auto write = [&] { evaluation_file(job)->evaluation(report); };
  CHECK_THAT(test::stderr_of(write), Catch::Contains("evaluation.json"));  // no output folder
}

TEST_CASE("a run with no steps left keeps the summary of the run that trained") {
  const test::TemporaryDirectory folder;
  ResolvedJob job = job_in(folder.path());
  const auto summary = [&] {
    return Json::parse(test::read_text(folder.path() / "run/summary.json"));
  };
  fs::create_directories(job.output);
  RunEnd end;
  end.outcome = "complete";
  end.step = 20;
  const auto worked = summary_file(job);
  worked->step(step_report(20));
  worked->end(end);
  CHECK(summary().contains("train"));

  summary_file(job)->end(end);
  CHECK(summary().contains("train"));

  RunEnd exported = end;
  exported.exported.emplace();
  summary_file(job)->end(exported);
  CHECK(summary().contains("train"));
  CHECK(summary().contains("exported"));

  end.outcome = "failed";
  end.reason = "the disk is full";
  summary_file(job)->end(end);
  CHECK(summary().at("reason") == "the disk is full");

  end.reason = "cannot read caf\xe9.jpg";  // a name that is not UTF-8
  summary_file(job)->end(end);
  CHECK_THAT(summary().at("reason").get<std::string>(), Contains("cannot read caf"));

  // The summary of a failed run is replaced.
  end.outcome = "complete";
  summary_file(job)->end(end);
  CHECK(summary().at("outcome") == "complete");

  fs::remove(folder.path() / "run/summary.json");
  job.eval_only = true;
  summary_file(job)->end(end);
  CHECK_FALSE(fs::exists(folder.path() / "run/summary.json"));
}

TEST_CASE("a resumed run writes its settings when it trains, or if there are none") {
  const test::TemporaryDirectory folder;
  ResolvedJob job = job_in(folder.path());
  const fs::path file = fs::path(job.output) / "config.toml";
  fs::create_directories(job.output);
  RunStart resumed;
  resumed.step = 20;
  job.provenance.config = "lr = 0.1";
  config_file(job)->start(resumed);
  CHECK(test::read_text(file) == "lr = 0.1");

  job.provenance.config = "lr = 0.2";
  const auto again = config_file(job);
  again->start(resumed);
  again->end({});
  CHECK(test::read_text(file) == "lr = 0.1");
  again->progress({});
  CHECK(test::read_text(file) == "lr = 0.2");

  job.provenance.config = "lr = 0.3";
  config_file(job)->start({});
  CHECK(test::read_text(file) == "lr = 0.3");
}

TEST_CASE("a summary that cannot be written does not hide why the run failed") {
  const test::TemporaryDirectory folder;
  const ResolvedJob job = job_in(folder.path());
  Reporter reporter(job, 0, 0);
  fs::create_directories(folder.path() / "run/summary.json/in the way");
  RunEnd end;
  end.outcome = "failed";
  CHECK_THAT(test::stderr_of([&] { reporter.end_failed(end); }), Catch::Contains("summary.json"));
  CHECK_THROWS_AS(reporter.end(end), std::runtime_error);
}

TEST_CASE("the file of events keeps what happened before a resume") {
  const test::TemporaryDirectory directory;
  const ResolvedJob job = job_in(directory.path());
  {
    Reporter reporter(job, 0, 0);
    reporter.start({"fresh start", {"a", "b"}, 0, 0, {"one", "two"}});
    reporter.event({"unreadable", 3, {{"images", 2}}, /*in_history=*/false});
    reporter.event({"loss_spike", 4, {{"loss", 9}, {"median", 2}}});
    reporter.end({"stopped", "", 0, 5, 1, {}, {}, {}});
  }
  Reporter reporter(job, 0, /*history_lines=*/0);
  reporter.start({"a checkpoint", {"a", "b"}, 0, 4, {}});
  RunEnd failed;
  failed.outcome = "failed", failed.reason = "no space", failed.step = 6;
  reporter.end_failed(failed);

  const std::vector<Json> found = rows(directory.path() / "run" / kEventsFile);
  REQUIRE(events(found) == std::vector<std::string>{"start", "unreadable", "loss_spike", "stopped",
                                                    "resume", "failed"});
  REQUIRE(found[0].at("hosts") == Json{"one", "two"});
  REQUIRE(found[0].at("world_size") == 2);
  REQUIRE(found[1].at("images") == 2);
  REQUIRE(found[4].at("from") == "a checkpoint");
  REQUIRE(found[4].at("step") == 4);
  REQUIRE(found[4].at("hosts").size() == 1);  // only this host
  REQUIRE(found[5].at("reason") == "no space");
  REQUIRE(found[5].at("time").get<std::string>().size() == 24);
}
