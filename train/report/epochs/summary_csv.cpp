// OUTPUT/summary.csv: one row per epoch, for spreadsheets and for programs that read timm's
// summary.csv. The rows contain the numbers of history.jsonl, so a resumed run continues the file.
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>

#include "base/file/whole_file.h"
#include "base/log.h"
#include "base/text.h"
#include "train/report/epochs/run_history.h"
#include "train/report/history_file.h"
#include "train/report/sinks.h"

namespace shoal::train {
namespace {

// timm's columns, then shoal's. As in timm, eval_… are the results of the averaged weights if there
// are any. weights_… are those of the weights themselves.
constexpr std::string_view kColumns =
    "epoch,train_loss,eval_loss,eval_top1,eval_top5,lr,"
    "train_top1,weights_loss,weights_top1,weights_top5,images_per_sec\n";

std::string csv_line(const EpochValues& v) {
  const bool ema = v.ema_top1.has_value();
  std::string line = std::to_string(v.epoch);
  for (const std::optional<double>& value :
       {v.train_loss, ema ? v.ema_loss : v.loss, v.deciding_top1(), ema ? v.ema_top5 : v.top5, v.lr,
        v.train_top1, v.loss, v.top1, v.top5, v.speed.images_per_second()})
    line += "," + (value ? number(*value) : "");
  return line + "\n";
}

class SummaryCsv final : public ReportSink {
 public:
  // `history`: the lines of history.jsonl up to the checkpoint that the run resumes from, if any.
  SummaryCsv(const ResolvedJob& job, const std::string& history)
      : averages_(job.ema > 0), path_(std::filesystem::path(job.output) / "summary.csv") {
    for (const EpochValues& values : read_history(history).epochs) rows_[values.epoch] = values;
  }

  void start(const RunStart& report) override {
    epoch_ = report.epoch;
    write();
  }
  void progress(const TrainingProgress& report) override { enter(report.epoch); }
  void step(const StepReport& report) override {
    EpochValues& values = row_of(report.epoch);
    values.train_loss = report.epoch_sum.mean_loss();
    values.train_top1 = report.epoch_sum.top1_percent();
    values.lr = report.lr;
    values.speed.add(static_cast<double>(report.step_in_epoch), report.images_per_second);
  }
  void evaluation(const EvaluationReport& report) override {
    EpochValues& v = row_of(report.epoch);
    std::optional<double> loss;
    if (std::isfinite(report.sum.loss)) loss = report.sum.mean_loss();
    (report.ema ? v.ema_loss : v.loss) = loss;
    (report.ema ? v.ema_top1 : v.top1) = report.sum.top1_percent();
    (report.ema ? v.ema_top5 : v.top5) = report.sum.top5_percent();
    if (report.ema == averages_) write();  // after the epoch's last evaluation
  }
  void end(const RunEnd& report) override {
    epoch_ = report.epoch;
    write();
  }

 private:
  EpochValues& row_of(int64_t epoch) {
    EpochValues& values = rows_[epoch];
    values.epoch = epoch;
    return values;
  }
  // If `epoch` is a new epoch, writes the one before, even if it was not evaluated.
  void enter(int64_t epoch) {
    if (epoch == epoch_) return;
    epoch_ = epoch;
    write();
  }
  bool may_replace();
  void warn(const std::string& text);
  void write();

  const bool averages_;  // whether the run evaluates averaged weights
  const std::filesystem::path path_;
  std::map<int64_t, EpochValues> rows_;
  int64_t epoch_ = 0;         // the current one; earlier ones are complete
  std::optional<bool> ours_;  // whether the file may be replaced; unset: it could not be read yet
  std::string written_;       // content of the file
  bool failing_ = false;      // the last write failed, and the failure was logged
};

// Returns true if this run may replace the file, because the file was missing, empty or written by
// shoal. If the file cannot be read, returns false, and the next call tries again.
bool SummaryCsv::may_replace() {
  if (ours_) return *ours_;
  const std::optional<std::string> old = read_if_readable(path_);
  std::error_code error;
  if (!old && std::filesystem::is_regular_file(path_, error)) {
    warn("cannot read " + path_.string() + "; it is continued as soon as it can be read");
    return false;
  }
  ours_ =
      !old || old->empty() || old->starts_with(kColumns.substr(0, kColumns.find("weights_loss")));
  if (!*ours_)
    log::warning(
        path_.string() +
        " was written by another program and is not replaced; history.jsonl has the metrics");
  return *ours_;
}

void SummaryCsv::warn(const std::string& text) {
  if (!failing_) log::warning(text);
  failing_ = true;
}

// Writes the epochs that are complete or were evaluated. Replaces the whole file, so that a reader
// never sees half a row. A failure does not end the run; the next call tries again.
void SummaryCsv::write() {
  std::string text(kColumns);
  for (const auto& [epoch, values] : rows_)
    if (epoch < epoch_ || values.deciding_top1()) text += csv_line(values);
  if (text == written_ || !may_replace()) return;
  try {
    write_whole(path_, text);
    written_ = std::move(text);
    failing_ = false;
  } catch (const std::runtime_error& error) {
    warn(error.what());
  }
}

}  // namespace

std::unique_ptr<ReportSink> summary_csv(const ResolvedJob& job, const HistoryFile& history) {
  if (job.eval_only) return nullptr;
  return std::make_unique<SummaryCsv>(job, history.text());
}

}  // namespace shoal::train
