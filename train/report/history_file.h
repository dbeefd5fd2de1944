#pragma once
// OUTPUT/history.jsonl: one JSON object per line for each printed report, with the time of writing.
// Values are not rounded, but otherwise equal those in the printed metric lines. Torch-free.

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "train/report/report.h"
#include "train/run/job.h"

namespace shoal::train {

inline constexpr const char* kHistoryFile = "history.jsonl";

// Returns the current time in UTC as ISO 8601: "2026-11-23T08:30:00.123Z".
std::string utc_time();

// Return a report's line as JSON text, without the time and the line break.
std::string history_row(const StepReport& report);
std::string history_row(const EvaluationReport& report);

class HistoryFile final : public ReportSink {
 public:
  // Truncates the file to its first `keep_lines` lines, because later lines were written after the
  // checkpoint that the run resumes from, and opens it for appending. --eval-only keeps all lines.
  // If the file has fewer lines, uses the copy in the checkpoint directory. Throws
  // std::runtime_error with path and reason.
  HistoryFile(const ResolvedJob& job, int64_t keep_lines);

  void step(const StepReport& report) override { append(history_row(report)); }
  void event(const Event& report) override;
  void evaluation_progress(const EvaluationProgress& report) override;
  void evaluation(const EvaluationReport& report) override { append(history_row(report)); }

  int64_t lines() const { return lines_; }
  const std::filesystem::path& path() const { return path_; }

 private:
  void append(const std::string& row);  // adds the time and the line break

  std::filesystem::path path_;
  std::ofstream file_;
  int64_t lines_ = 0;
};

}  // namespace shoal::train
