// Tests that training continues while a thread copies and writes a checkpoint, but does not change
// the state before it is copied.

#include <ATen/ops/equal.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <cerrno>
#include <chrono>
#include <thread>

#include "tests/support/failing_calls.h"
#include "tests/train/run/run_support.h"
#include "train/job/rank_loader_options.h"
#include "train/run/pause.h"
#include "train/step/trainer.h"

using namespace shoal;
using namespace shoal::train;
using namespace shoal::test;
namespace fs = std::filesystem;

TEST_CASE("training continues while a checkpoint is written") {
  const test::TemporaryDirectory folder;
  const auto settings = [](Job& job) {
    job.checkpoint_steps = 2;
    job.print_freq = 1;
  };
  const ResolvedJob whole = job_in(folder.path() / "whole", settings);
  run_alone(whole);
  const ResolvedJob job = job_in(folder.path() / "slow", settings);
  // The disk hangs until the run has made another step, and then writes the state before that step.
  std::atomic<bool> stepped = false;
  const FailingCalls hang(
      "write",
      [&](const std::string& path) {
        if (path.find("step-00000002") == path.npos || stepped) return false;
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        while (!stepped && std::chrono::steady_clock::now() < end) {
          const std::string history = test::read_text(fs::path(job.output) / "history.jsonl");
          stepped = std::ranges::any_of(test::lines_of(history), [](const std::string& line) {
            const auto row = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
            return row.is_object() && row.at("event") == "train" && row.at("step") == 3;
          });
        }
        return false;
      },
      EIO);
  run_alone(job);
  REQUIRE(stepped);
  REQUIRE(checkpoints_of(job).size() == checkpoints_of(whole).size());
  for (size_t i = 0; i < checkpoints_of(job).size(); ++i)
    CHECK(checkpoints_of(job)[i].checksum == checkpoints_of(whole)[i].checksum);
}

TEST_CASE("a trainer calls before_change() before a step, load() and swap_ema() change the state") {
  const test::TemporaryDirectory folder;
  const ResolvedJob job = job_in(folder.path(), [](Job& asked) { asked.ema = 0.5; });
  dist::Communicator alone = dist::connect(dist::single_process());
  Trainer trainer(job, alone);
  CheckpointData before;
  int calls = 0;
  trainer.before_change([&] {
    ++calls;
    CheckpointData state;
    trainer.save_tensors(state);
    for (size_t i = 0; i < state.model.size(); ++i)
      CHECK(at::equal(state.model[i].second, before.model[i].second));
  });
  const auto changes = [&](const std::function<void()>& change) {
    trainer.save_tensors(before);
    change();
    CheckpointData after;
    trainer.save_tensors(after);
    CHECK_FALSE(at::equal(before.model[0].second, after.model[0].second));
  };
  CheckpointData initial;
  trainer.save_tensors(initial);
  trainer.save_counts(initial);
  data::Loader loader(synthetic_images(12), rank_loader_options(job, 0, true));
  loader.start_epoch(0, 0);
  changes([&] { trainer.step([&] { return loader.next(); }, 0, 0.1); });
  CHECK(calls == 1);
  changes([&] { trainer.swap_ema(); });
  CHECK(calls == 2);
  changes([&] { trainer.load(initial); });
  CHECK(calls == 3);
}

TEST_CASE("a pause ends when the state is copied, and measures the wait") {
  const auto pause = std::make_shared<Pause>();
  pause->wait();  // nothing is being copied
  pause->begin(1);
  std::atomic<bool> copied = false;
  std::thread thread([&] {
    const Pause::End end(*pause);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    copied = true;
  });
  pause->wait();
  CHECK(copied);
  CHECK(pause->seconds() > 1.001);
  thread.join();
}
