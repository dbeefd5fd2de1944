#pragma once
// Hands every report of a run to all sinks. On ranks other than 0 it does nothing. Torch-free.

#include <filesystem>
#include <memory>
#include <vector>

#include "train/report/report.h"
#include "train/run/job.h"

namespace shoal::train {

class HistoryFile;

class Reporter final : public ReportSink {
 public:
  // Makes the sinks. `history_lines`: lines of history.jsonl to keep, see HistoryFile, which also
  // says what this throws. `job` must outlive the reporter.
  Reporter(const ResolvedJob& job, int64_t rank, int64_t history_lines);
  ~Reporter() override;

  void start(const RunStart& report) override;
  void progress(const Progress& report) override;
  // Steps and batches without a finite loss are not reported.
  void step(const StepReport& report) override;
  void event(const Event& report) override;
  void evaluation_progress(const EvaluationProgress& report) override;
  void evaluation(const EvaluationReport& report) override;
  void end(const RunEnd& report) override;
  // end() after an exception. Sinks that fail only log a warning: the exception matters more.
  void end_failed(const RunEnd& report) noexcept;

  int64_t history_lines() const;  // in history.jsonl now
  std::filesystem::path history_file() const;

 private:
  std::vector<std::unique_ptr<ReportSink>> sinks_;  // called in this order; empty on other ranks
  HistoryFile* history_ = nullptr;                  // one of them
};

}  // namespace shoal::train
