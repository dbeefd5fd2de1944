// Tests loss spikes without a usable checkpoint to roll back to, and checkpoints of older versions.

#include <catch2/catch.hpp>
#include <fstream>

#include "tests/train/run/run_support.h"
#include "train/checkpoint/resume.h"
#include "train/control/recovery.h"
#include "train/report/reporter.h"

using namespace shoal;
using namespace shoal::train;
namespace fs = std::filesystem;

namespace {

Meter with_loss(double loss) {
  return {.loss = loss, .images = 1};
}

struct Rollback {
  Rollback() {
    fs::create_directories(job.output);
    store.open_for_writing();
  }

  const test::TemporaryDirectory folder;
  const ResolvedJob job =
      test::job_in(folder.path(), [](Job& j) { j.on_spike = OnSpike::rollback; });
  dist::Communicator alone = dist::connect(dist::single_process());
  Trainer trainer{job, alone};
  CheckpointStore store = checkpoint_store(job.checkpoint_dir, 20);
  BackgroundStore background{store, *alone.progress};
  Position position;
};

}  // namespace

TEST_CASE_METHOD(Rollback,
                 "a rollback that finds only a damaged checkpoint is due in the resumed run") {
  position.step = 1;
  const auto entry = store.save(0, 1, std::nullopt, [&](const CheckpointStore::Sink& sink) {
    write_checkpoint(snapshot(trainer, position, job, {"a", "b", "c", "d"}), sink);
  });
  const auto good = store.read(entry);
  const auto contents = [&](const std::string& bytes) {
    std::ofstream(store.path(entry), std::ios::binary | std::ios::trunc) << bytes;
  };
  contents("damaged");

  Reporter reporter(job, 0, 0);
  Recovery recovery(job, trainer, background, alone, reporter, position);
  constexpr int64_t kSpike = 30;
  for (int64_t step = 1; step < kSpike; ++step) recovery.add_loss(with_loss(1), step);
  position.step = kSpike + 1;
  REQUIRE_THROWS_AS(recovery.add_loss(with_loss(100), kSpike), std::runtime_error);
  CHECK(position.rollback_due == kSpike);
  CHECK(position.rollbacks == 0);
  CHECK(position.skip_until == 0);

  position.losses = recovery.losses();
  contents({good.begin(), good.end()});
  Recovery resumed(job, trainer, background, alone, reporter, position);
  resumed.roll_back(position.rollback_due);
  CHECK(position.rollback_due == 0);
  CHECK(position.rollbacks == 1);
  CHECK(position.trouble_start == kSpike);
  CHECK(position.skip_until == kSpike + 1);
}

TEST_CASE_METHOD(
    Rollback,
    "without a checkpoint to roll back to, the run continues, however long the loss is high") {
  {
    Reporter reporter(job, 0, 0);
    Recovery recovery(job, trainer, background, alone, reporter, position);
    for (int64_t step = 1; step <= 60; ++step) {
      position.step = step;
      recovery.add_loss(with_loss(step < 20 ? 1 : 100), step);
    }
  }
  CHECK(position.rollback_due == 0);
  CHECK(position.rollbacks == 0);
  CHECK(test::history_of(job) == test::Rows{"loss_spike 20"});
}

TEST_CASE("the last step's metrics of an older checkpoint are kept for the loss watch") {
  CheckpointData data;
  write_position({}, data);
  CHECK(read_position(data).pending.empty());
  const auto values = with_loss(2.5).values();
  for (size_t i = 0; i < values.size(); ++i)
    data.numbers["posted_" + std::to_string(i)] = values[i];
  CHECK(read_position(data).pending.values() == values);
}
