#pragma once
// Passes the reports of a run to all sinks. Does nothing on ranks other than 0. Does not use
// LibTorch.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "train/job/job.h"
#include "train/report/host/utilization.h"
#include "train/report/report.h"

namespace shoal::train {

class HistoryFile;

class Reporter final : public ReportSink {
 public:
  using Clock = std::function<SteadyClock::time_point()>;

  // Creates the sinks on rank 0. `history_lines`: number of lines of history.jsonl to keep.
  // `clock`: time for the utilization. Throws like HistoryFile's constructor. `job` must outlive
  // the reporter.
  Reporter(const ResolvedJob& job, int64_t rank, int64_t history_lines,
           Clock clock = SteadyClock::now);
  ~Reporter() override;

  void start(const RunStart& report) override;
  // Also calls measure().
  void progress(const TrainingProgress& report) override;
  // Reports the utilization if the last such report is at least 10 s old. Call it often, also
  // during evaluations. `epoch`, `step`: as in UtilizationReport.
  void measure(int64_t epoch, int64_t step);
  // Drops the report if the step or the epoch so far has no finite loss. Adds the utilization.
  void step(const StepReport& report) override;
  void event(const Event& report) override;
  // Drops the report if the batch or the evaluation so far has no finite loss. Adds utilization.
  void evaluation_progress(const EvaluationProgress& report) override;
  void evaluation(const EvaluationReport& report) override;
  void images(const ImageGrid& report) override;
  void histograms(int64_t step, const std::vector<Histogram>& report) override;
  void end(const RunEnd& report) override;
  // Like end(), after an exception. If a sink fails too, only logs a warning, because the first
  // exception is more important.
  void end_failed(const RunEnd& report) noexcept;

  int64_t history_lines() const;     // current number of lines in history.jsonl
  std::string history_text() const;  // all of history.jsonl on rank 0; otherwise empty

 private:
  RunEnd with_utilization(RunEnd report) const;

  std::vector<std::unique_ptr<ReportSink>> sinks_;  // in the order of the calls; only on rank 0
  HistoryFile* history_ = nullptr;                  // points to one of sinks_
  Clock clock_;
  std::optional<UtilizationMeter> utilization_;  // only on rank 0
};

}  // namespace shoal::train
