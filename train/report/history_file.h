#pragma once
// OUTPUT/history.jsonl: one JSON object for each printed report, with the same values unrounded and
// the time of writing. A value scraped from a metric line equals the history to the printed digits.
// Torch-free.

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "train/report/report.h"
#include "train/run/job.h"

namespace shoal::train {

inline constexpr const char* kHistoryFile = "history.jsonl";

// The time now, ISO 8601 in UTC: "2026-11-23T08:30:00.123Z".
std::string utc_time();

// The rows as JSON text, without the time.
std::string history_row(const StepReport& report);
std::string history_row(const EvaluationReport& report);

class HistoryFile final : public ReportSink {
 public:
  // Opens the file for appending after its first `keep_lines` lines; later lines were written after
  // the checkpoint that the run resumes from. --eval-only keeps all. If the file has fewer lines,
  // the copy beside the checkpoints is used. Throws std::runtime_error with path and reason.
  HistoryFile(const ResolvedJob& job, int64_t keep_lines);

  void step(const StepReport& report) override { append(history_row(report)); }
  void event(const Event& report) override;
  void evaluation_progress(const EvaluationProgress& report) override;
  void evaluation(const EvaluationReport& report) override { append(history_row(report)); }

  int64_t lines() const { return lines_; }
  const std::filesystem::path& path() const { return path_; }

 private:
  void append(const std::string& row);  // with the time

  std::filesystem::path path_;
  std::ofstream file_;
  int64_t lines_ = 0;
};

}  // namespace shoal::train
