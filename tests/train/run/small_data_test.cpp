// Tests options for small and unbalanced data: --balance and class weights across --resume,
// --eval-every, --patience and --time-budget.

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "tests/support/spawn_ranks.h"
#include "tests/train/run/run_support.h"

using namespace shoal;
using namespace shoal::train;
using namespace shoal::test;
namespace fs = std::filesystem;

namespace {

// 12 images of four classes with 7, 3, 1 and 1 images.
class Unbalanced : public data::ForwardingDataset {
 public:
  Unbalanced() : ForwardingDataset(synthetic_images(12)) {}
  int32_t label(int64_t sample) const override {
    return sample < 7 ? 0 : sample < 10 ? 1 : static_cast<int32_t>(sample) - 8;
  }
};

// Runs the job with class weights on these images.
RunResult run_unbalanced(ResolvedJob job) {
  job.class_weights = {0.4, 1, 3, 3};
  return run_alone(job, std::make_shared<const Unbalanced>());
}

std::string checkpoint_at(const ResolvedJob& job, int64_t step) {
  for (const CheckpointEntry& entry : checkpoints_of(job))
    if (entry.step == step) return (fs::path(job.checkpoint_dir) / (entry.name + ".pt")).string();
  return "";
}

std::string last_checksum(const ResolvedJob& job) {
  return checkpoints_of(job).front().checksum;
}

// Trains with a learning rate of almost 0, so that no evaluation is better than the first.
void train_in_vain(Job& job) {
  job.epochs = 10;
  job.schedule.lr = 1e-30;
  job.schedule.min_lr = 0;
  job.optimizer.weight_decay = 0;
  job.patience = 2;
}

}  // namespace

TEST_CASE("with --balance and class weights, a run resumed within an epoch repeats every bit") {
  const test::TemporaryDirectory folder;
  const auto settings = [](Job& j) {
    j.balance = 1;
    j.checkpoint_steps = 2;
    j.mix.mixup = 0.2;
  };
  const ResolvedJob job = job_in(folder.path(), settings);
  run_unbalanced(job);
  const std::string last = last_checksum(job);
  const ResolvedJob again = job_in(folder.path(), [&](Job& j) {
    settings(j);
    j.resume_path = checkpoint_at(job, 2);
  });
  run_unbalanced(again);
  CHECK(checkpoints_of(again).front().step == 6);
  CHECK(last_checksum(again) == last);

  const ResolvedJob other = job_in(folder.path() / "other", [&](Job& j) {
    settings(j);
    j.balance = 0;
  });
  run_unbalanced(other);
  CHECK(last_checksum(other) != last);
}

TEST_CASE("class weights change the training loss and no evaluation") {
  const test::TemporaryDirectory folder;
  const auto first_rows = [&](const std::string& name, const std::vector<double>& weights) {
    ResolvedJob job = job_in(folder.path() / name, [](Job& j) {
      j.max_steps = 1;
      j.schedule.lr = 1e-30;
      j.optimizer.weight_decay = 0;
    });
    job.class_weights = weights;
    const RunResult result = run_alone(job, std::make_shared<const Unbalanced>());
    return std::pair(summary_of(job).at("train").at("loss").get<double>(),
                     result.last_evaluation.loss);
  };
  const auto plain = first_rows("plain", {});
  const auto ones = first_rows("ones", {1, 1, 1, 1});
  const auto doubled = first_rows("doubled", {2, 2, 2, 2});
  CHECK(ones.first == Approx(plain.first));
  CHECK(doubled.first == Approx(2 * plain.first));
  CHECK(doubled.second == Approx(plain.second));
}

TEST_CASE("--eval-every evaluates every Nth epoch and the end of the run, and saves every epoch") {
  const test::TemporaryDirectory folder;
  const auto rows = [&](const std::string& name, int64_t every) {
    const ResolvedJob job = job_in(folder.path() / name, [&](Job& j) {
      j.eval_every = every;
      j.epochs = 3;
      j.print_freq = 3;
    });
    run_alone(job);
    CHECK(checkpoints_of(job).size() == 3);
    CHECK(summary_of(job).at("valid").at("step") == 9);
    Rows valid;
    for (const std::string& row : history_of(job))
      if (row.starts_with("valid")) valid.push_back(row);
    return valid;
  };
  CHECK((rows("two", 2) == Rows{"valid 6", "valid 9"}));
  CHECK(rows("end", 0) == Rows{"valid 9"});
}

TEST_CASE("--patience ends a run that gets no better; --resume adds nothing unless it is raised") {
  const test::TemporaryDirectory folder;
  const ResolvedJob job = job_in(folder.path(), train_in_vain);
  run_alone(job);
  Rows rows = history_of(job);
  REQUIRE(rows.size() == 13);  // 3 epochs with 3 steps and 1 evaluation each, and early_stop
  CHECK(rows.back() == "early_stop 9");
  CHECK(summary_of(job).at("outcome") == "complete");
  CHECK(summary_of(job).at("best").at("step") == 3);

  const auto resumed = [&](int64_t patience) {
    const ResolvedJob again = job_in(folder.path(), [&](Job& j) {
      train_in_vain(j);
      j.patience = patience;
      j.resume = true;
    });
    run_alone(again);
    return history_of(again);
  };
  CHECK(resumed(2) == rows);
  rows = resumed(3);
  CHECK(rows.size() == 18);
  CHECK(rows.back() == "early_stop 12");
}

TEST_CASE("if a time budget runs out during an evaluation, the run ends after it", "[slow]") {
  struct Slow : data::ForwardingDataset {
    Slow() : ForwardingDataset(test::synthetic_images(5)) {}
    void read(int64_t sample, std::vector<uint8_t>& bytes) const override {
      // Sleeps only once: a sleeping prefetch for another evaluation would outlive the run.
      if (sample == 0 && !slept.exchange(true))
        std::this_thread::sleep_for(std::chrono::seconds(6));
      ForwardingDataset::read(sample, bytes);
    }
    mutable std::atomic<bool> slept = false;
  };
  const test::TemporaryDirectory folder;
  const ResolvedJob job = job_in(folder.path(), [](Job& j) {
    j.time_budget = 5;
    j.epochs = 1000;
    j.max_steps = 9;
  });
  run_alone(job, nullptr, std::make_shared<const Slow>());
  const Rows rows = history_of(job);
  CHECK(std::ranges::count_if(
            rows, [](const std::string& row) { return row.starts_with("valid"); }) == 1);
}

TEST_CASE("a time budget ends all ranks at the same step; raising it continues the run", "[slow]") {
  test::run_ranks(2, "budget", [](const dist::Env& env) {
    const test::TemporaryDirectory folder;
    dist::Communicator communicator = dist::connect(env);
    // Step 1 uses up the budget. But the ranks receive the time of step 1 only after the check at
    // the end of step 2. So step 3 is the last.
    const auto run_for = [&](double seconds, bool resume) {
      const auto change = [&](Job& j) {
        j.time_budget = seconds;
        j.epochs = 1000;
        j.resume = resume;
      };
      const ResolvedJob job = job_in(folder.path(), change, env.rank, 2);
      const RunResult result = run_job(job, communicator);
      REQUIRE(result.stop_signal == 0);
      return job;
    };
    ResolvedJob job = run_for(0.001, false);
    if (env.rank == 0) {
      REQUIRE(history_of(job) == Rows{"train 1", "train 2", "train 3", "valid 3"});
      REQUIRE(summary_of(job).at("outcome") == "complete");
    }
    job = run_for(0.001, true);
    if (env.rank == 0) REQUIRE(history_of(job).size() == 4);
    job = run_for(0.002, true);  // makes one step: the run has already used more than 0.002 s
    if (env.rank == 0) {
      REQUIRE(history_of(job).size() == 6);
      REQUIRE(history_of(job).back() == "valid 4");
    }
    communicator.shutdown();
  });
}
