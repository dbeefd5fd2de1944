#include "train/report/reporter.h"

#include <cmath>
#include <exception>
#include <utility>

#include "base/log.h"
#include "train/report/history_file.h"
#include "train/report/sinks.h"

namespace shoal::train {

Reporter::Reporter(const ResolvedJob& job, int64_t rank, int64_t history_lines, Clock clock)
    : clock_(std::move(clock)) {
  if (rank != 0) return;
  auto history = std::make_unique<HistoryFile>(job, history_lines);
  history_ = history.get();
  sinks_.push_back(std::move(history));
#define SINK(name) sinks_.push_back(name(job));
#define HISTORY_SINK(name) sinks_.push_back(name(job, *history_));
#include "train/report/sinks.def"
#undef SINK
#undef HISTORY_SINK
  std::erase(sinks_, nullptr);  // null: a sink that the run does not use
  utilization_.emplace(job.host_gpus, /*alone=*/job.local_world_size == 1);
}

Reporter::~Reporter() = default;

void Reporter::start(const RunStart& report) {
  for (auto& sink : sinks_) sink->start(report);
}

void Reporter::progress(const TrainingProgress& report) {
  for (auto& sink : sinks_) sink->progress(report);
  measure(report.epoch, report.step);
}

void Reporter::measure(int64_t epoch, int64_t step) {
  if (!utilization_) return;
  const UtilizationReport report{epoch, step, utilization_->take(clock_())};
  if (report.values.empty()) return;
  for (auto& sink : sinks_) sink->utilization(report);
}

void Reporter::step(const StepReport& given) {
  if (sinks_.empty() || given.last.empty() || given.epoch_sum.empty()) return;
  StepReport report = given;
  report.utilization = utilization_->of_readings();
  for (auto& sink : sinks_) sink->step(report);
}

void Reporter::event(const Event& report) {
  for (auto& sink : sinks_) sink->event(report);
}

void Reporter::evaluation_progress(const EvaluationProgress& given) {
  if (sinks_.empty() || given.last.empty()) return;
  if (!std::isfinite(given.last.loss) || !std::isfinite(given.sum.loss)) return;
  EvaluationProgress report = given;
  report.utilization = utilization_->of_readings();
  for (auto& sink : sinks_) sink->evaluation_progress(report);
}

void Reporter::evaluation(const EvaluationReport& report) {
  for (auto& sink : sinks_) sink->evaluation(report);
}

void Reporter::images(const ImageGrid& report) {
  for (auto& sink : sinks_) sink->images(report);
}

void Reporter::histograms(int64_t step, const std::vector<Histogram>& report) {
  for (auto& sink : sinks_) sink->histograms(step, report);
}

void Reporter::end(const RunEnd& given) {
  const RunEnd report = with_utilization(given);
  for (auto& sink : sinks_) sink->end(report);
}

void Reporter::end_failed(const RunEnd& given) noexcept {
  const RunEnd report = with_utilization(given);
  for (auto& sink : sinks_) {
    try {
      sink->end(report);
    } catch (const std::exception& error) {
      log::warning(error.what());
    }
  }
}

RunEnd Reporter::with_utilization(RunEnd report) const {
  if (utilization_) report.utilization = utilization_->of_run(clock_());
  return report;
}

int64_t Reporter::history_lines() const {
  return history_ ? history_->lines() : 0;
}

std::string Reporter::history_text() const {
  return history_ ? history_->text() : "";
}

}  // namespace shoal::train
