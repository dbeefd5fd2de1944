#include "train/report/reporter.h"

#include <cmath>
#include <exception>

#include "base/log.h"
#include "train/report/history_file.h"
#include "train/report/sinks.h"

namespace shoal::train {

Reporter::Reporter(const ResolvedJob& job, int64_t rank, int64_t history_lines) {
  if (rank != 0) return;
  auto history = std::make_unique<HistoryFile>(job, history_lines);
  history_ = history.get();
  sinks_.push_back(classes_file(job));
  sinks_.push_back(terminal_bar(job));
  sinks_.push_back(log_lines(job));
  sinks_.push_back(std::move(history));
  sinks_.push_back(evaluation_file(job));
  sinks_.push_back(events_file(job));
  sinks_.push_back(summary_file(job));
}

Reporter::~Reporter() = default;

void Reporter::start(const RunStart& report) {
  for (auto& sink : sinks_) sink->start(report);
}

void Reporter::progress(const Progress& report) {
  for (auto& sink : sinks_) sink->progress(report);
}

void Reporter::step(const StepReport& report) {
  if (report.last.empty() || report.epoch_sum.empty()) return;
  for (auto& sink : sinks_) sink->step(report);
}

void Reporter::event(const Event& report) {
  for (auto& sink : sinks_) sink->event(report);
}

void Reporter::evaluation_progress(const EvaluationProgress& report) {
  if (report.last.empty()) return;
  if (!std::isfinite(report.last.loss) || !std::isfinite(report.sum.loss)) return;
  for (auto& sink : sinks_) sink->evaluation_progress(report);
}

void Reporter::evaluation(const EvaluationReport& report) {
  for (auto& sink : sinks_) sink->evaluation(report);
}

void Reporter::end(const RunEnd& report) {
  for (auto& sink : sinks_) sink->end(report);
}

void Reporter::end_failed(const RunEnd& report) noexcept {
  for (auto& sink : sinks_) {
    try {
      sink->end(report);
    } catch (const std::exception& error) {
      log::warning(error.what());
    }
  }
}

int64_t Reporter::history_lines() const {
  return history_ ? history_->lines() : 0;
}

std::string Reporter::history_text() const {
  return history_ ? history_->text() : "";
}

}  // namespace shoal::train
