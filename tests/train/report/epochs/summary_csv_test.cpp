#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <limits>
#include <map>
#include <sstream>

#include "tests/support/file_size_limit.h"
#include "tests/support/program.h"
#include "tests/support/temporary_directory.h"
#include "tests/train/report/report_support.h"
#include "train/report/history_file.h"
#include "train/report/sinks.h"

using namespace shoal;
using namespace shoal::train;
using Catch::Matchers::Contains;
using test::job_in;
using test::Redirected;
using test::rows;
namespace fs = std::filesystem;

namespace {

using CsvRow = std::map<std::string, std::string>;  // maps a column's name to its cell
constexpr int64_t kStepsPerEpoch = 4;

// The summary.csv writer and the history file of a run, as in a Reporter.
class ReportedRun {
 public:
  explicit ReportedRun(const ResolvedJob& job, int64_t keep_lines = 0, int64_t epoch = 0)
      : history_(job, keep_lines), sink_(summary_csv(job, history_)) {
    RunStart start;
    start.epoch = epoch;
    sink_->start(start);
  }

  // Reports two of the steps of an epoch, `first` and `last`. Their values differ between epochs.
  void train(int64_t epoch, int64_t first = 1, int64_t last = kStepsPerEpoch) {
    for (const int64_t step : {first, last}) {
      const auto e = static_cast<double>(epoch), s = static_cast<double>(step);
      StepReport report;
      report.epoch = epoch;
      report.step_in_epoch = step;
      report.steps_per_epoch = kStepsPerEpoch;
      report.step = epoch * kStepsPerEpoch + step;
      report.last = {9, 1, 2, 4, 0};
      report.epoch_sum = {(10 - e) * s / 3, e * s, 4 * s, 4 * s, 0};
      report.lr = 0.1 / (e + s);
      report.images_per_second = 100 * s + e / 7;
      TrainingProgress progress;
      progress.epoch = epoch;
      sink_->progress(progress);
      history_.step(report);
      sink_->step(report);
    }
  }
  void evaluate(int64_t epoch, bool ema, double loss = 50) {
    const auto e = static_cast<double>(epoch);
    EvaluationReport report;
    report.epoch = epoch;
    report.step = (epoch + 1) * kStepsPerEpoch;
    report.ema = ema;
    report.sum = {loss / 7, 30 + e + (ema ? 10 : 0), 60 + e, 70, 1};
    history_.evaluation(report);
    sink_->evaluation(report);
  }
  void end(int64_t epoch) {
    RunEnd report;
    report.epoch = epoch;
    sink_->end(report);
  }
  int64_t lines() const { return history_.lines(); }

 private:
  HistoryFile history_;
  std::unique_ptr<ReportSink> sink_;
};

fs::path csv_of(const ResolvedJob& job) {
  return fs::path(job.output) / "summary.csv";
}

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells(1);
  for (const char c : line)
    if (c == ',')
      cells.emplace_back();
    else
      cells.back() += c;
  return cells;
}

std::vector<CsvRow> csv_rows(const ResolvedJob& job) {
  const auto lines = test::lines_of(test::read_text(csv_of(job)));
  std::vector<CsvRow> found;
  const auto names = cells_of(lines.at(0));
  for (size_t i = 1; i < lines.size(); ++i) {
    const auto cells = cells_of(lines[i]);
    REQUIRE(cells.size() == names.size());
    for (size_t k = 0; k < cells.size(); ++k) {
      if (k == 0) found.emplace_back();
      found.back()[names[k]] = cells[k];
    }
  }
  return found;
}

std::vector<std::string> epochs_in(const ResolvedJob& job) {
  std::vector<std::string> epochs;
  for (const CsvRow& row : csv_rows(job)) epochs.push_back(row.at("epoch"));
  return epochs;
}

using Epochs = std::vector<std::string>;

}  // namespace

TEST_CASE("summary.csv has timm's columns first, and the numbers of the history") {
  const test::TemporaryDirectory folder;
  const ResolvedJob job = job_in(folder.path());
  ReportedRun run(job);
  CHECK_THAT(test::read_text(csv_of(job)),
             Catch::StartsWith("epoch,train_loss,eval_loss,eval_top1,eval_top5,lr,"));
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    run.train(epoch);
    CHECK(csv_rows(job).size() == static_cast<size_t>(epoch));
    run.evaluate(epoch, false);
  }
  const auto found = csv_rows(job);
  REQUIRE(found.size() == 3);
  for (const auto& row : rows(fs::path(job.output) / kHistoryFile)) {
    const CsvRow& csv = found.at(row.at("epoch"));
    const auto check = [&](const char* column, const char* key) {
      INFO(column);
      CHECK(std::stod(csv.at(column)) == row.at(key).get<double>());  // not rounded
    };
    if (row.at("event") == "train" && row.at("step_in_epoch") == kStepsPerEpoch) {
      check("epoch", "epoch");
      check("train_loss", "loss_average");
      check("train_top1", "acc1_average");
      check("lr", "lr");
    } else if (row.at("event") == "valid") {
      check("eval_loss", "loss");
      check("eval_top1", "acc1");
      check("eval_top5", "acc5");
      check("weights_loss", "loss");
      check("weights_top1", "acc1");
      check("weights_top5", "acc5");
    }
  }
  // One step with 100 images/s and three with 400.
  CHECK(std::stod(found[0].at("images_per_sec")) == Approx(4 / (1 / 100.0 + 3 / 400.0)));
}

TEST_CASE("with averaged weights, eval columns of summary.csv have their results, as in timm") {
  const test::TemporaryDirectory folder;
  ResolvedJob job = job_in(folder.path());
  job.ema = 0.99;
  ReportedRun run(job);
  run.train(0);
  run.evaluate(0, false);
  CHECK(csv_rows(job).empty());  // the row is written when it is complete
  run.evaluate(0, true, std::numeric_limits<double>::quiet_NaN());
  const CsvRow row = csv_rows(job).at(0);
  CHECK(std::stod(row.at("weights_top1")) == Approx(3000 / 70.0));
  CHECK(std::stod(row.at("eval_top1")) == Approx(4000 / 70.0));
  CHECK(row.at("eval_loss").empty());  // neither nan nor weights_loss
  CHECK_FALSE(row.at("weights_loss").empty());
}

TEST_CASE("epochs without an evaluation have empty cells in summary.csv") {
  const test::TemporaryDirectory folder;
  const ResolvedJob job = job_in(folder.path());
  int64_t saved = 0;
  {
    ReportedRun run(job);
    run.train(0);
    CHECK(epochs_in(job).empty());
    run.train(1);  // ends epoch 0
    CHECK(epochs_in(job) == Epochs{"0"});
    run.evaluate(1, false);
    run.train(2);
    CHECK(epochs_in(job) == Epochs{"0", "1"});
    run.end(3);
    saved = run.lines();
  }
  const std::string before = test::read_text(csv_of(job));
  REQUIRE(epochs_in(job) == Epochs{"0", "1", "2"});
  for (const CsvRow& row : csv_rows(job))
    for (const auto& [name, cell] : row) {
      const bool of_evaluation = name.starts_with("eval_") || name.starts_with("weights_");
      CHECK(cell.empty() == (of_evaluation && row.at("epoch") != "1"));
    }
  const ReportedRun resumed(job, saved, 3);
  CHECK(test::read_text(csv_of(job)) == before);
}

TEST_CASE("summary.csv has an incomplete epoch only if it was evaluated") {
  const test::TemporaryDirectory folder;
  const ResolvedJob job = job_in(folder.path());
  {
    ReportedRun run(job);
    run.train(0);
    run.evaluate(0, false);
    run.train(1, 1, 2);
    run.end(1);  // stopped in epoch 1
  }
  CHECK(epochs_in(job) == Epochs{"0"});
  ReportedRun run(job, 4, 1);
  run.evaluate(1, false);  // as when --max-steps ends the run
  CHECK(epochs_in(job) == Epochs{"0", "1"});
}

TEST_CASE("a resumed run continues summary.csv as if it had not been interrupted") {
  const test::TemporaryDirectory whole_folder, folder;
  const ResolvedJob whole_job = job_in(whole_folder.path()), job = job_in(folder.path());
  ReportedRun whole(whole_job);
  for (int64_t epoch = 0; epoch < 4; ++epoch) {
    whole.train(epoch, 2, 3);
    whole.train(epoch, 3, 4);
    whole.evaluate(epoch, false);
  }
  int64_t saved = 0;
  {
    ReportedRun run(job);
    for (int64_t epoch = 0; epoch < 3; ++epoch) {
      run.train(epoch, 2, 3);
      if (epoch == 1) saved = run.lines();
      run.train(epoch, 3, 4);
      run.evaluate(epoch, false);
    }
  }
  REQUIRE(epochs_in(job) == Epochs{"0", "1", "2"});
  ReportedRun run(job, saved, 1);
  CHECK(epochs_in(job) == Epochs{"0"});  // later epochs were after the checkpoint
  run.train(1, 3, 4);
  run.evaluate(1, false);
  for (int64_t epoch = 2; epoch < 4; ++epoch) {
    run.train(epoch, 2, 3);
    run.train(epoch, 3, 4);
    run.evaluate(epoch, false);
  }
  CHECK(test::read_text(csv_of(job)) == test::read_text(csv_of(whole_job)));
}

TEST_CASE("summary.csv has one row per epoch, also after a rollback and a new start") {
  const test::TemporaryDirectory folder;
  const ResolvedJob job = job_in(folder.path());
  {
    ReportedRun run(job);
    for (const int64_t epoch : {0, 1, 2, 1, 2}) {
      run.train(epoch);
      run.evaluate(epoch, false);
    }
    CHECK(epochs_in(job) == Epochs{"0", "1", "2"});
  }
  CHECK_THAT(test::stderr_of([&] { const ReportedRun again(job); }),
             Contains("superseded-history.jsonl"));
  CHECK(epochs_in(job).empty());
}

TEST_CASE("a full disk leaves summary.csv as it was, and a later row completes it") {
  const test::TemporaryDirectory folder;
  const ResolvedJob job = job_in(folder.path());
  ReportedRun run(job);
  run.train(0);
  run.evaluate(0, false);
  const std::string before = test::read_text(csv_of(job));
  {
    const test::FileSizeLimit limit(before.size());
    const std::string warning = test::stderr_of([&] {
      run.train(1);
      run.evaluate(1, false);
    });
    CHECK_THAT(warning, Contains("summary.csv"));
  }
  CHECK(test::read_text(csv_of(job)) == before);
  run.train(2);
  CHECK(epochs_in(job) == Epochs{"0", "1"});
}

TEST_CASE("a summary.csv that cannot be written is reported once and does not end the run") {
  const test::TemporaryDirectory folder;
  const ResolvedJob job = job_in(folder.path());
  fs::create_directories(csv_of(job) / "in the way");
  {
    const Redirected err(STDERR_FILENO, folder.path() / "err");
    ReportedRun run(job);
    run.train(0);
    run.evaluate(0, false);
    fs::remove_all(csv_of(job));
    run.end(1);
  }
  CHECK(epochs_in(job) == Epochs{"0"});
  const auto warnings = test::lines_of(test::read_text(folder.path() / "err"));
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0], Contains("summary.csv"));
}

TEST_CASE("a summary.csv that cannot be read at first is replaced once it can be") {
  const test::TemporaryDirectory folder;
  const ResolvedJob job = job_in(folder.path());
  fs::create_directories(job.output);
  fs::create_symlink("/proc/self/mem", csv_of(job));  // a regular file whose first bytes give EIO
  const std::string warnings = test::stderr_of([&] {
    ReportedRun run(job);
    run.train(0);
    run.evaluate(0, false);
    CHECK(fs::is_symlink(csv_of(job)));
    fs::remove(csv_of(job));
    run.end(1);
  });
  CHECK(epochs_in(job) == Epochs{"0"});
  CHECK_THAT(warnings, Contains("cannot read"));
  CHECK(test::lines_of(warnings).size() == 1);
}

TEST_CASE("--eval-only and files of other programs leave summary.csv as it is") {
  const test::TemporaryDirectory folder;
  ResolvedJob job = job_in(folder.path());
  const std::string timm = "epoch,train_loss,eval_loss,eval_top1,eval_top5,lr\r\n0,1,2,3,4,5\r\n";
  test::write_text(csv_of(job), timm);
  {
    const Redirected err(STDERR_FILENO, folder.path() / "err");
    ReportedRun run(job);
    run.train(0);
    run.evaluate(0, false);
    run.end(1);
  }
  CHECK(test::read_text(csv_of(job)) == timm);
  CHECK_THAT(test::read_text(folder.path() / "err"), Contains("summary.csv"));
  job.eval_only = true;
  const HistoryFile history(job, 0);
  CHECK(summary_csv(job, history) == nullptr);
}
