#include "train/run/run_evaluation.h"

#include <ATen/Parallel.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>

#include "tests/support/history.h"
#include "tests/support/redirected.h"
#include "tests/train/run/run_support.h"
#include "train/checkpoint/find_checkpoint.h"
#include "train/job/rank_loader_options.h"

using namespace shoal;
using namespace shoal::train;
namespace fs = std::filesystem;

TEST_CASE("evaluations report the utilization, whatever --print-freq is") {
  const test::TemporaryDirectory folder;
  at::set_num_threads(1);
  const ResolvedJob job = test::job_in(folder.path(), [](Job& asked) {
    asked.ema = 0.5;
    asked.print_freq = 1000;
  });
  fs::create_directories(job.output);
  dist::Communicator alone = dist::connect(dist::single_process());
  const std::vector<std::string> classes = {"a", "b", "c", "d"};
  CheckpointStore store = checkpoint_store(job.checkpoint_dir, job.keep);
  BackgroundStore background(store, *alone.progress);
  Trainer trainer(job, alone);
  Position position;
  position.epoch = 1, position.step = 6;
  // Every call of the clock is 6 s later than the previous one.
  SteadyClock::time_point now = SteadyClock::now();
  Reporter reporter(job, 0, 0, [&now] { return now += std::chrono::seconds(6); });
  TimeBudget time(0, 0, 0, 0, 0);
  const RunContext run{job, alone, classes, background, trainer, position, reporter, time, false};
  data::Loader loader(test::synthetic_images(24), rank_loader_options(job, 0, false));
  dist::ControlChannel control(alone.control);
  {
    const test::Redirected out(STDOUT_FILENO, folder.path() / "out");
    evaluate_run(run, control, loader);
  }
  // The weights and their averages are evaluated, with 6 batches each. The utilization is printed
  // after every second batch.
  int64_t lines = 0;
  for (const std::string& line : test::lines_of(test::read_text(folder.path() / "out"))) {
    if (!line.starts_with("util:")) continue;
    CHECK_THAT(line, Catch::EndsWith("epoch=1; step=6;"));
    ++lines;
  }
  CHECK(lines == 6);
  const auto rows = test::rows(fs::path(job.output) / "history.jsonl");
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].at("event") == "test");  // the row of the last batch
  CHECK(rows[0].at("timing").at("utilization").contains("memory_gb"));
}
