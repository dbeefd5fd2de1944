// Tests that training continues while a thread copies and writes a checkpoint, but does not change
// the state before it is copied.

#include <ATen/ops/equal.h>
#include <c10/core/Allocator.h>

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
#include "train/run/run_checkpoints.h"
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

TEST_CASE("a trainer waits before a step, load() and swap_ema() change the state") {
  const test::TemporaryDirectory folder;
  const ResolvedJob job = job_in(folder.path(), [](Job& asked) { asked.ema = 0.5; });
  dist::Communicator alone = dist::connect(dist::single_process());
  Trainer trainer(job, alone);
  CheckpointData before;
  int calls = 0;
  trainer.set_before_change([&] {
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

TEST_CASE("a pause ends when the state is copied, and the copying thread knows the wait") {
  Pause pause;
  pause.wait();  // nothing is being copied
  pause.begin(1);
  double seconds = 0;
  std::thread thread([&] {
    {
      const Pause::End end(pause);
      while (!pause.waiting()) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    seconds = pause.seconds();
  });
  pause.wait();
  thread.join();
  CHECK(seconds > 1.001);
  CHECK(seconds == pause.seconds());
}

namespace {

// Memory for CPU tensors. While `blocked`, other threads than the first one wait.
class BlockingAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t size) override {
    while (std::this_thread::get_id() != first_ && blocked) std::this_thread::yield();
    return before_->allocate(size);
  }
  void copy_data(void* to, const void* from, std::size_t size) const override {
    before_->copy_data(to, from, size);
  }
  BlockingAllocator() { c10::SetAllocator(c10::kCPU, this, 100); }
  ~BlockingAllocator() override { c10::SetAllocator(c10::kCPU, before_, 100); }
  std::atomic<bool> blocked = true;

 private:
  c10::Allocator* const before_ = c10::GetAllocator(c10::kCPU);
  const std::thread::id first_ = std::this_thread::get_id();
};

}  // namespace

TEST_CASE("a run does not change the state before it is copied") {
  const test::TemporaryDirectory folder;
  const ResolvedJob job = job_in(folder.path());
  fs::create_directories(job.output);
  dist::Communicator alone = dist::connect(dist::single_process());
  CheckpointStore store = checkpoint_store(job.checkpoint_dir, job.keep);
  store.open_for_writing();
  BackgroundStore background(store, *alone.progress);
  Trainer trainer(job, alone);
  Position position;
  position.step = 1;
  Reporter reporter(job, 0, 0);
  TimeBudget time(0, 0, 0, 0, 0);
  const std::vector<std::string> classes = {"a", "b", "c", "d"};
  const RunContext run{job, alone, classes, background, trainer, position, reporter, time, false};
  dist::ControlChannel control(alone.control);
  Recovery recovery(job, trainer, background, alone, reporter, position);
  RunCheckpoints checkpoints(run, control, recovery);
  CheckpointData saved, other;
  trainer.save_tensors(saved);
  trainer.save_tensors(other);
  for (auto& [name, tensor] : other.model) tensor.fill_(3);
  trainer.save_counts(other);

  BlockingAllocator allocator;
  checkpoints.save();
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    allocator.blocked = false;
  });
  trainer.load(other);
  CHECK_FALSE(allocator.blocked);
  later.join();
  checkpoints.finish();
  const auto entry = store.entries().at(0);
  const CheckpointData found = read_checkpoint(store.read(entry), entry.name);
  for (size_t i = 0; i < saved.model.size(); ++i)
    CHECK(at::equal(found.model[i].second, saved.model[i].second));
}
