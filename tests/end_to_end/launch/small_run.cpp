#include "tests/end_to_end/launch/small_run.h"

#include <catch2/catch.hpp>

namespace shoal::test {
namespace {

constexpr int kLastStep = 6;  // 2 epochs of 3 steps

train::CheckpointEntry last_of(const std::filesystem::path& checkpoints) {
  const auto entries = train::CheckpointStore(checkpoints, 1).entries();
  INFO(checkpoints);
  REQUIRE_FALSE(entries.empty());
  return entries.front();
}

}  // namespace

SmallRun::SmallRun(int world_size) {
  make_images(directory_.path() / "data", 36, 12, 2, 40);
  const auto own = words("own", {"--nproc", std::to_string(world_size)});
  Invocation invocation{own, {}};
  require_success(run_together({invocation}));
  const auto last = last_of(output("own") / "checkpoints");
  REQUIRE(last.step == kLastStep);
  checksum_ = last.checksum;
}

std::vector<std::string> SmallRun::words(const std::string& name,
                                         const std::vector<std::string>& more) const {
  // clang-format off
  std::vector<std::string> list = {
      shoal_program(), "train", "--data", (directory_.path() / "data").string(),
      "--output", output(name).string(), "--threads", "1", "--workers", "1",
      "--model", "mobilenet_v3_small", "--size", "32", "--global-batch-size", "12", "--epochs", "2",
      "--lr", "0.02", "--keep", "9", "--rendezvous-timeout", "60"};
  // clang-format on
  list.insert(list.end(), more.begin(), more.end());
  return list;
}

void SmallRun::require_same_checkpoints(const std::filesystem::path& checkpoints) const {
  const auto last = last_of(checkpoints);
  REQUIRE(last.step == kLastStep);
  REQUIRE(last.checksum == checksum_);
}

void SmallRun::require_same(const std::string& name) const {
  require_same_checkpoints(output(name) / "checkpoints");
}

const SmallRun& pair_run() {
  static const SmallRun run(2);
  return run;
}

void require_success(const std::vector<Outcome>& outcomes) {
  for (const Outcome& outcome : outcomes) {
    INFO(outcome.err);
    REQUIRE(outcome.exit_code == 0);
  }
}

}  // namespace shoal::test
