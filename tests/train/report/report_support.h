#pragma once
// Reports for the tests of their sinks.

#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/history.h"
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

// Redirects a file descriptor to a file or a pipe until the destructor runs.
class Redirected {
 public:
  Redirected(int descriptor, const std::filesystem::path& file)
      : Redirected(descriptor, open(file.c_str(), O_WRONLY | O_CREAT, 0600)) {}
  // Closes `opened`, the descriptor of the file or pipe.
  Redirected(int descriptor, int opened) : descriptor_(descriptor), kept_(dup(descriptor)) {
    REQUIRE(opened >= 0);
    dup2(opened, descriptor);
    close(opened);
  }
  ~Redirected() {
    dup2(kept_, descriptor_);
    close(kept_);
  }
  Redirected(const Redirected&) = delete;
  Redirected& operator=(const Redirected&) = delete;

 private:
  int descriptor_, kept_;
};

// Returns what `function` writes to stderr, at most 64 KB. Uses a pipe, because a test may limit the
// size of files.
inline std::string stderr_of(const std::function<void()>& function) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  {
    const Redirected err(STDERR_FILENO, ends[1]);
    function();
  }
  std::string text(65536, '\0');
  const ssize_t size = read(ends[0], text.data(), text.size());
  close(ends[0]);
  text.resize(size > 0 ? static_cast<size_t>(size) : 0);
  return text;
}

}  // namespace shoal::test
