#pragma once
// A job and example reports for the tests of report sinks.

#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "tests/support/history.h"
#include "tests/support/redirected.h"
#include "train/job/job.h"
#include "train/report/report.h"

namespace shoal::test {

inline train::ResolvedJob job_in(const std::filesystem::path& folder) {
  train::ResolvedJob job;
  job.output = (folder / "run").string();
  job.checkpoint_dir = (folder / "checkpoints").string();
  job.settings.resize(2);
  job.settings[0].name = "seed", job.settings[0].value = "5";
  job.settings[1].name = "amp", job.settings[1].value = "off";
  job.world_size = 2;
  job.last_step = 20;
  return job;
}

inline train::StepReport step_report(int64_t step) {
  train::StepReport report;
  report.epoch = 1;
  report.step_in_epoch = step;
  report.steps_per_epoch = 10;
  report.step = step;
  report.last = {8, 1, 2, 4, 0};
  report.epoch_sum = {20, 2, 4, 8, 0};
  report.lr = 0.25;
  report.gradient_norm = std::numeric_limits<double>::infinity();
  return report;
}

inline train::EvaluationReport evaluation_report(bool ema) {
  train::EvaluationReport report;
  report.epoch = 1;
  report.step = 10;
  report.sum = {6, 3, 4, 4, 1};
  report.seconds = 2;
  report.ema = ema;
  return report;
}

}  // namespace shoal::test
