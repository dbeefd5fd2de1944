#pragma once
// OUTPUT/history.jsonl: one JSON object per line for each step, evaluation and event that is
// printed, except events with in_history = false. Each object contains the time of writing. The
// values equal those in the printed metric lines, but are not rounded. Does not use LibTorch.

#include <cstdint>
#include <filesystem>
#include <string>

#include "train/job/job.h"
#include "train/report/appended_file.h"
#include "train/report/report.h"

namespace shoal::train {

inline constexpr const char* kHistoryFile = "history.jsonl";

// Return a report's line as JSON text, without the time and the line break.
std::string history_row(const StepReport& report);
std::string history_row(const EvaluationProgress& report);
std::string history_row(const EvaluationReport& report);
std::string history_row(const Event& report);

class HistoryFile final : public ReportSink {
 public:
  // Opens the file for appending. First truncates it to `keep_lines` lines, because later lines
  // were written after the checkpoint that the run resumes from; --eval-only keeps all lines. If
  // the file has fewer lines, uses a copy that has more, from the checkpoint directory or from the
  // folders of --resume PATH. If the run starts from the beginning or --resume PATH resumes another
  // run, first renames the file to superseded-history.jsonl. Throws std::runtime_error with path
  // and reason. Later failures do not end the run (AppendedFile).
  HistoryFile(const ResolvedJob& job, int64_t keep_lines);

  void step(const StepReport& report) override { append(history_row(report)); }
  void event(const Event& report) override {
    if (report.in_history) append(history_row(report));
  }
  void evaluation_progress(const EvaluationProgress& report) override {
    append(history_row(report));
  }
  void evaluation(const EvaluationReport& report) override { append(history_row(report)); }

  void end(const RunEnd&) override { file_.flush(); }

  // Return the text and the number of all lines, including lines that could not be written yet.
  // text() throws std::system_error if the file cannot be read.
  std::string text() const { return file_.bytes(); }
  int64_t lines() const { return lines_; }

 private:
  void append(const std::string& row);  // adds the time and the line break

  AppendedFile file_;
  int64_t lines_;
};

}  // namespace shoal::train
