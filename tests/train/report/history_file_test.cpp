#include "train/report/history_file.h"

#include <catch2/catch.hpp>
#include <cerrno>
#include <filesystem>
#include <fstream>

#include "tests/support/failing_calls.h"
#include "tests/support/file_size_limit.h"
#include "tests/support/temporary_directory.h"
#include "tests/train/report/report_support.h"
#include "train/report/reporter.h"

using namespace shoal;
using namespace shoal::train;
using Catch::Matchers::Contains;
using test::job_in;
using test::rows;
using test::stderr_of;
using test::step_report;
namespace fs = std::filesystem;

TEST_CASE("a resumed run keeps the lines of the history up to its checkpoint") {
  const test::TemporaryDirectory folder;
  ResolvedJob job = job_in(folder.path());
  const fs::path path = folder.path() / "run/history.jsonl";
  for (int64_t step : {1, 2, 3}) HistoryFile(job, step - 1).step(step_report(step));

  HistoryFile resumed(job, 2);
  CHECK(resumed.lines() == 2);
  resumed.step(step_report(9));
  const auto history = rows(path);
  REQUIRE(history.size() == 3);
  CHECK(history[1].at("step") == 2);
  CHECK(history[2].at("step") == 9);

  // A new machine has only the copy beside the checkpoints.
  fs::create_directories(job.checkpoint_dir);
  fs::rename(path, fs::path(job.checkpoint_dir) / "history.jsonl");
  CHECK(HistoryFile(job, 3).lines() == 3);
  CHECK(rows(path)[2].at("step") == 9);

  // --resume FILE with another --output uses the history beside the checkpoint.
  ResolvedJob other = job_in(folder.path() / "other");
  other.resume_path = job.checkpoint_dir + "/epoch-0001-step-00000009.pt";
  CHECK(HistoryFile(other, 3).lines() == 3);

  job.eval_only = true;
  CHECK(HistoryFile(job, 0).lines() == 3);
}

TEST_CASE("a history that lacks lines of the checkpoint is continued with a warning") {
  const test::TemporaryDirectory folder;
  const ResolvedJob job = job_in(folder.path());
  for (int64_t step : {1, 2, 3}) HistoryFile(job, step - 1).step(step_report(step));
  CHECK_THAT(stderr_of([&] { CHECK(HistoryFile(job, 5).lines() == 3); }),
             Contains("history.jsonl") && Contains("3 of the 5 lines"));
  CHECK(stderr_of([&] { HistoryFile(job, 2); }).empty());
}

TEST_CASE("after a power loss, a history with a damaged end is restored from its copy") {
  const test::TemporaryDirectory folder;
  const ResolvedJob job = job_in(folder.path());
  const fs::path path = folder.path() / "run/history.jsonl";
  {
    Reporter reporter(job, 0, 0);
    for (int64_t step = 1; step <= 3; ++step) reporter.step(step_report(step));
  }
  const std::string whole = test::read_text(path);
  fs::create_directories(job.checkpoint_dir);
  std::ofstream(fs::path(job.checkpoint_dir) / "history.jsonl") << whole;
  const size_t third = whole.rfind('{', whole.rfind("\"event\""));
  for (const std::string& tail : {std::string(40, '\0'), whole.substr(third, 40),
                                  whole.substr(third, whole.size() - third - 1)}) {
    std::ofstream(path) << whole.substr(0, third) + tail;
    CHECK(Reporter(job, 0, 3).history_lines() == 3);
    CHECK(test::read_text(path) == whole);
  }
}

TEST_CASE("--eval-only keeps all lines of a history, even damaged ones") {
  const test::TemporaryDirectory folder;
  ResolvedJob job = job_in(folder.path());
  const fs::path path = folder.path() / "run/history.jsonl";
  test::write_text(path, "{\"a\":1}\ndamaged\n{\"a\":2}\n{\"cut");
  job.eval_only = true;
  Reporter(job, 0, 0).evaluation({});
  CHECK_THAT(test::read_text(path),
             Catch::StartsWith("{\"a\":1}\ndamaged\n{\"a\":2}\n{\"event\":\"valid\""));
}

TEST_CASE("a history that cannot be written names its path") {
  const test::TemporaryDirectory folder;
  ResolvedJob job = job_in(folder.path());
  std::ofstream(folder.path() / "file") << "x";
  job.output = (folder.path() / "file").string();
  CHECK_THROWS_WITH(Reporter(job, 0, 0), Contains((folder.path() / "file").string()));
}

TEST_CASE("a history that cannot be read is an error, not an empty history") {
  const test::TemporaryDirectory folder;
  const ResolvedJob job = job_in(folder.path());
  const fs::path path = folder.path() / "run/history.jsonl";
  fs::create_directories(path);  // reading a folder fails
  CHECK_THROWS_WITH(Reporter(job, 0, 3), Contains(path.string()));
  ResolvedJob evaluation = job;
  evaluation.eval_only = true;
  CHECK_THROWS_WITH(Reporter(evaluation, 0, 0), Contains(path.string()));
}

TEST_CASE("a run that starts from the beginning renames the history that was there") {
  const test::TemporaryDirectory folder;
  ResolvedJob job = job_in(folder.path());
  job.resume = GENERATE(true, false);
  const fs::path run = folder.path() / "run";
  for (const char* name : {"superseded-history.jsonl", "superseded-2-history.jsonl"}) {
    test::write_text(run / "history.jsonl", name);
    CHECK_THAT(stderr_of([&] { Reporter(job, 0, 0).step(step_report(1)); }),
               Contains("another run") && Contains(name));
    CHECK(test::read_text(run / name) == name);
    CHECK(rows(run / "history.jsonl").size() == 1);
  }
  test::write_text(run / "history.jsonl", "");  // a run that failed before its first row
  CHECK(stderr_of([&] { Reporter(job, 0, 0).step(step_report(1)); }).empty());
  CHECK_FALSE(fs::exists(run / "superseded-3-history.jsonl"));
}

TEST_CASE("--resume PATH renames the history of another run") {
  const test::TemporaryDirectory folder;
  const ResolvedJob first = job_in(folder.path() / "first");
  HistoryFile(first, 0).step(step_report(1));
  ResolvedJob job = job_in(folder.path() / "second");
  job.resume_path = first.checkpoint_dir + "/epoch-0001-step-00000001.pt";
  const fs::path run = folder.path() / "second/run";
  HistoryFile(job, 0).step(step_report(7));
  for (const ResolvedJob& one : {first, job}) {  // puts a copy beside the checkpoints
    fs::create_directories(one.checkpoint_dir);
    fs::copy_file(fs::path(one.output) / "history.jsonl",
                  fs::path(one.checkpoint_dir) / "history.jsonl");
  }

  CHECK_THAT(stderr_of([&] { CHECK(HistoryFile(job, 1).lines() == 1); }),
             Contains("another run") && Contains("superseded-history.jsonl"));
  CHECK(rows(run / "history.jsonl")[0].at("step") == 1);
  CHECK(rows(run / "superseded-history.jsonl")[0].at("step") == 7);

  // If the run's own history was truncated, it is not mistaken for another run's.
  test::write_text(run / "history.jsonl", "");
  CHECK(stderr_of([&] { CHECK(HistoryFile(job, 1).lines() == 1); }).empty());
  CHECK_FALSE(fs::exists(run / "superseded-2-history.jsonl"));
}

TEST_CASE("rows that a full disk refuses are written when there is space again") {
  const test::TemporaryDirectory folder;
  const ResolvedJob job = job_in(folder.path());
  const fs::path path = folder.path() / "run/history.jsonl";
  Reporter reporter(job, 0, 0);
  reporter.step(step_report(1));
  {
    const test::FailingCalls full(
        "write", [&](const std::string& file) { return file == path.string(); }, ENOSPC);
    const std::string warning = stderr_of([&] {
      reporter.step(step_report(2));
      reporter.step(step_report(3));
    });
    CHECK_THAT(warning, Contains(path.string()) && Contains("No space"));
    CHECK(test::count_of(warning, "warning") == 1);  // not for each row
    CHECK(full.count() == 2);
    CHECK(rows(path).size() == 1);
    CHECK(reporter.history_lines() == 3);
    CHECK(test::lines_of(reporter.history_text()).size() == 3);
  }
  reporter.step(step_report(4));
  const auto history = rows(path);
  REQUIRE(history.size() == 4);
  for (size_t i = 0; i < 4; ++i) CHECK(history[i].at("step") == i + 1);
  CHECK(reporter.history_text() == test::read_text(path));
}

TEST_CASE("a row that a full disk takes only in part is completed when there is space again") {
  const test::TemporaryDirectory folder;
  const fs::path path = folder.path() / "run/history.jsonl";
  Reporter reporter(job_in(folder.path()), 0, 0);
  reporter.step(step_report(1));
  const auto before = fs::file_size(path);
  {
    const test::FileSizeLimit limit(before + 10);
    CHECK_THAT(stderr_of([&] { reporter.step(step_report(2)); }),
               Contains(path.string()) && Contains("too large"));
  }
  CHECK(fs::file_size(path) == before + 10);
  reporter.step(step_report(3));
  const auto history = rows(path);
  REQUIRE(history.size() == 3);
  for (size_t i = 0; i < 3; ++i) CHECK(history[i].at("step") == i + 1);
}

TEST_CASE("a resumed run that cannot write the history keeps the old rows") {
  const test::TemporaryDirectory folder;
  const ResolvedJob job = job_in(folder.path());
  const fs::path path = folder.path() / "run/history.jsonl";
  for (int64_t step : {1, 2, 3}) HistoryFile(job, step - 1).step(step_report(step));
  const std::string before = test::read_text(path);
  const test::FailingCalls full(
      "write", [](const std::string& file) { return file.find("history") != file.npos; }, ENOSPC);
  CHECK_THROWS_WITH(HistoryFile(job, 2), Contains("No space"));
  CHECK(test::read_text(path) == before);
}

TEST_CASE("a history that was removed or replaced is written again") {
  const test::TemporaryDirectory folder;
  const ResolvedJob job = job_in(folder.path());
  const fs::path path = folder.path() / "run/history.jsonl";
  Reporter reporter(job, 0, 0);
  reporter.step(step_report(1));
  const std::string again = "wrote it again";
  fs::remove(path);
  CHECK_THAT(stderr_of([&] { reporter.step(step_report(2)); }), Contains(again));
  CHECK(rows(path).size() == 2);
  fs::rename(path, folder.path() / "old");
  std::ofstream(path) << "";
  CHECK_THAT(stderr_of([&] { reporter.step(step_report(3)); }), Contains(again));
  CHECK(rows(path).size() == 3);
  CHECK(rows(folder.path() / "old").size() == 2);
  fs::remove_all(folder.path() / "run");
  CHECK_THAT(stderr_of([&] { reporter.step(step_report(4)); }),
             Contains("cannot") && Contains(path.string()));
  CHECK(reporter.history_lines() == 4);
  fs::create_directories(folder.path() / "run");
  RunEnd end;
  end.outcome = "complete";
  CHECK_THAT(stderr_of([&] { reporter.end(end); }), Contains(again));
  CHECK(rows(path).size() == 4);
}
