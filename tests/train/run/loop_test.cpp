#include <signal.h>

#include <catch2/catch.hpp>

#include "tests/support/spawn_ranks.h"
#include "tests/train/run/run_support.h"
#include "train/control/stop.h"

using namespace shoal;
using namespace shoal::train;
using namespace shoal::test;
using Catch::Matchers::Contains;
namespace fs = std::filesystem;

TEST_CASE("each epoch trains, evaluates and saves; a resumed run repeats it bit for bit",
          "[slow]") {
  const test::TemporaryDirectory folder;
  const auto settings = [](Job& job) {
    job.checkpoint_steps = 2;
    job.ema = 0.9;
  };
  const ResolvedJob job = job_in(folder.path(), settings);
  const RunResult result = run_alone(job);
  REQUIRE(result.stop_signal == 0);
  REQUIRE(result.last_evaluation.images == 5);
  const Rows whole = {"train 1", "train 2", "train 3", "valid 3", "valid_ema 3",
                      "train 4", "train 5", "train 6", "valid 6", "valid_ema 6"};
  REQUIRE(history_of(job) == whole);
  const auto entries = checkpoints_of(job);
  REQUIRE(entries.size() == 4);  // newest first; step 6 is saved once
  const int64_t steps[] = {6, 4, 3, 2}, epochs[] = {2, 1, 1, 0};
  for (size_t i = 0; i < 4; ++i) {
    REQUIRE(entries[i].step == steps[i]);
    REQUIRE(entries[i].epoch == epochs[i]);
    REQUIRE(entries[i].top1.has_value() == (entries[i].step % 3 == 0));
  }
  REQUIRE(summary_of(job).at("outcome") == "complete");
  REQUIRE(summary_of(job).at("step") == 6);
  REQUIRE(summary_of(job).at("train").at("step") == 6);

  // Resume in the middle of the first epoch.
  const ResolvedJob again = job_in(folder.path(), [&](Job& j) {
    settings(j);
    j.resume_path = (fs::path(job.checkpoint_dir) / (entries[3].name + ".pt")).string();
  });
  run_alone(again);
  REQUIRE(history_of(again) == whole);
  const auto repeated = checkpoints_of(again);
  REQUIRE(repeated.size() == 4);
  REQUIRE(repeated[0].checksum == entries[0].checksum);
  REQUIRE(repeated[1].checksum == entries[1].checksum);
}

TEST_CASE("--max-steps ends the run within an epoch, with an evaluation; --resume adds nothing") {
  const test::TemporaryDirectory folder;
  const ResolvedJob job = job_in(folder.path(), [](Job& j) { j.max_steps = 4; });
  run_alone(job);
  REQUIRE(history_of(job) ==
          Rows{"train 1", "train 2", "train 3", "valid 3", "train 4", "valid 4"});
  const auto entries = checkpoints_of(job);
  REQUIRE(entries.size() == 2);
  REQUIRE(entries[0].step == 4);
  REQUIRE(entries[0].epoch == 1);  // the epoch in progress
  REQUIRE(entries[0].top1);

  const ResolvedJob again = job_in(folder.path(), [](Job& j) {
    j.max_steps = 4;
    j.resume = true;
  });
  run_alone(again);
  REQUIRE(history_of(again).size() == 6);
  REQUIRE(checkpoints_of(again).size() == 2);
  REQUIRE(summary_of(again).at("train").at("step") == 4);  // still the value from the first run
}

TEST_CASE("a run that continues after --max-steps ends bit-equal, with the same best checkpoint",
          "[slow]") {
  const test::TemporaryDirectory folder;
  struct Case {
    int64_t eval_every, steps;  // the run first stops after `steps` steps
    int64_t best;               // step of the best checkpoint
  };
  for (const Case c : {Case{1, 1, 3}, Case{2, 3, 6}}) {
    INFO(c.eval_every);
    const auto run = [&](const std::string& name, const std::function<void(Job&)>& change) {
      const ResolvedJob job =
          job_in(folder.path() / name / std::to_string(c.eval_every), [&](Job& j) {
            j.schedule.lr =
                1e-30;  // all evaluations have the same accuracy, so the first is the best
            j.eval_every = c.eval_every;
            j.export_dir = j.output + "/model";
            change(j);
          });
      run_alone(job);
      return job;
    };
    const ResolvedJob whole = run("whole", [](Job&) {});
    const ResolvedJob stopped = run("part", [&](Job& j) { j.max_steps = c.steps; });
    CHECK(CheckpointStore(stopped.checkpoint_dir, 1).best()->step == c.steps);
    CHECK(summary_of(stopped).at("exported").at("step") == c.steps);
    CHECK(history_of(stopped).back() == "valid " + std::to_string(c.steps));
    const ResolvedJob again = run("part", [&](Job& j) {  // nothing is left to train
      j.max_steps = c.steps;
      j.resume = true;
    });
    CHECK(history_of(again).back() == "valid " + std::to_string(c.steps));
    CHECK(summary_of(again).at("exported").at("step") == c.steps);

    const ResolvedJob resumed = run("part", [](Job& j) { j.resume = true; });
    REQUIRE(summary_of(whole).at("best").at("step") == c.best);
    CHECK(summary_of(resumed).at("best") == summary_of(whole).at("best"));
    CHECK(summary_of(resumed).at("exported").at("step") == c.best);
    CHECK(history_of(resumed) == history_of(whole));
    CHECK(checkpoints_of(resumed)[0].checksum == checkpoints_of(whole)[0].checksum);
  }
}

TEST_CASE("a signal on one rank stops all ranks after the same step, with a checkpoint", "[slow]") {
  test::run_ranks(2, "stop", [](const dist::Env& env) {
    const test::TemporaryDirectory folder;
    const ResolvedJob job = job_in(folder.path(), {}, env.rank, 2);
    dist::Communicator communicator = dist::connect(env);
    if (env.rank == 1) request_stop(SIGTERM);
    const RunResult result = run_job(job, communicator);
    REQUIRE(result.stop_signal == SIGTERM);
    communicator.shutdown();
    if (env.rank != 0) return;
    // The signal is posted after step 1 and collected after step 2.
    REQUIRE(history_of(job) == Rows{"train 1", "train 2"});
    REQUIRE(checkpoints_of(job).size() == 1);
    REQUIRE(checkpoints_of(job)[0].step == 2);
    REQUIRE(summary_of(job).at("outcome") == "stopped");
  });
}

TEST_CASE("a run whose loss stays non-finite saves a checkpoint and fails with the reason") {
  const test::TemporaryDirectory folder;
  const ResolvedJob job = job_in(folder.path(), [](Job& j) {
    j.schedule.lr = 1e30;
    j.schedule.warmup_epochs = 0;
    j.non_finite_limit = 2;
  });
  CHECK_THROWS_WITH(run_alone(job), Contains("not finite in 2 steps in a row, up to step 3"));
  REQUIRE(history_of(job) == Rows{"train 1", "nonfinite 2", "nonfinite 3"});
  REQUIRE(checkpoints_of(job).size() == 1);
  REQUIRE(checkpoints_of(job)[0].step == 3);
  REQUIRE(summary_of(job).at("outcome") == "failed");
  CHECK_THAT(summary_of(job).at("reason").get<std::string>(),
             Contains("it failed: loss or gradient was not finite"));
}

TEST_CASE("--eval-only evaluates once and writes no checkpoint and no summary") {
  const test::TemporaryDirectory folder;
  const ResolvedJob trained = job_in(folder.path(), [](Job& j) { j.max_steps = 1; });
  run_alone(trained);
  const ResolvedJob job = job_in(folder.path(), [&](Job& j) {
    j.eval_only = true;
    j.resume_path = trained.checkpoint_dir;
    j.output = (folder.path() / "evaluation").string();
  });
  REQUIRE(run_alone(job).last_evaluation.images == 5);
  REQUIRE(history_of(job) == Rows{"valid 1"});
  REQUIRE(fs::exists(folder.path() / "evaluation/classes.json"));
  REQUIRE_FALSE(fs::exists(folder.path() / "evaluation/checkpoints"));
  REQUIRE_FALSE(fs::exists(folder.path() / "evaluation/summary.json"));
}
