#pragma once
// OUTPUT/history.jsonl: one JSON object per line for each printed report, with the time of writing.
// Values are not rounded, but otherwise equal those in the printed metric lines. Torch-free.

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/descriptor.h"
#include "train/job/job.h"
#include "train/report/report.h"

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
  // std::runtime_error with path and reason. Later failures do not end the run: rows that cannot be
  // written stay in memory, a warning is logged, and the next row tries again. A file that was
  // removed is written again.
  HistoryFile(const ResolvedJob& job, int64_t keep_lines);

  void step(const StepReport& report) override { append(history_row(report)); }
  void event(const Event& report) override;
  void evaluation_progress(const EvaluationProgress& report) override;
  void evaluation(const EvaluationReport& report) override { append(history_row(report)); }

  void end(const RunEnd&) override { write_rows(); }

  // All rows and their number, also of those that could not be written. Throws std::system_error if
  // the file cannot be read.
  std::string text() const;
  int64_t lines() const { return lines_; }

 private:
  void append(const std::string& row);  // adds the time and the line break
  void write_rows();
  void open();
  bool is_in_place() const;

  std::filesystem::path path_;
  Descriptor file_;
  int64_t lines_ = 0;
  std::string unwritten_;  // rows with line breaks; empty unless writing has failed
  bool failing_ = false;   // the failure has been reported
};

}  // namespace shoal::train
