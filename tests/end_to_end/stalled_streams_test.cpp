// Tests pipes whose writers die or stall, and SIGTERM while a process waits for a pipe.

#include <signal.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <optional>

#include "tests/end_to_end/streams.h"
#include "train/checkpoint/checkpoint_store.h"

using namespace shoal;
using Catch::Contains;
using test::Channel;
using test::kOnePipe;
using test::kPerRank;
using test::Streams;
namespace fs = std::filesystem;

TEST_CASE("a writer that dies in the middle of an image fails the job and names the pipe") {
  Streams streams;
  streams.write("inputdataconfig", kOnePipe);
  const Channel dies("mkfifo \"$0_0\"; head -c 20000 \"$1\" >\"$0_0\"; sleep 1000",
                     streams.channel("train"), streams.tar("a", 40));
  const Channel eval(streams.channel("eval"), streams.tar("c", 4));
  const auto run = streams.train({"--train-samples", "40", "--epochs", "1"});
  INFO(run.err);
  CHECK(run.exit_code == 1);
  CHECK_THAT(run.err, Contains("train_0") && Contains("cut short"));
  CHECK_THAT(test::read_text(streams / "output/failure"), Contains("cut short"));
}

TEST_CASE("a stop while a pipe is stalled saves a checkpoint and ends at once") {
  Streams streams;
  streams.write("inputdataconfig", kOnePipe);
  const Channel stalls("mkfifo \"$0_0\"; { head -c 24000 \"$1\"; sleep 1000; } >\"$0_0\"",
                       streams.channel("train"), streams.tar("a", 40));
  bool asked = false;
  const auto stop_after_first = [&](pid_t group) {
    if (!asked && !test::read_text(streams / "output/data/history.jsonl").empty())
      asked = ::kill(group, SIGTERM) == 0;
    return false;
  };
  const auto run =
      streams.train({"--train-samples", "40", "--shuffle-buffer", "0"}, stop_after_first);
  INFO(run.err);
  CHECK(run.exit_code == 0);  // as SageMaker expects
  // The watchdog, which saves after --stop-timeout, did not end the run.
  CHECK_THAT(run.err, !Contains("stopped by SIGTERM while"));
  CHECK(train::CheckpointStore(streams / "checkpoints", 1).entries().front().step == 1);
}

TEST_CASE("a stop before the first step saves no checkpoint and exports no model") {
  Streams streams;
  streams.write("inputdataconfig", kOnePipe);
  const Channel silent("mkfifo \"$0_0\"; sleep 1000 >\"$0_0\"", streams.channel("train"),
                       streams.tar("a", 4));
  bool asked = false;
  const auto stop_when_it_runs = [&](pid_t group) {
    if (!asked && fs::exists(streams / "output/data/classes.json"))
      asked = ::kill(group, SIGTERM) == 0;
    return false;
  };
  const auto run = streams.train({"--train-samples", "40"}, stop_when_it_runs);
  INFO(run.err);
  CHECK(asked);
  CHECK(run.exit_code == 0);
  CHECK_THAT(run.err, Contains("nothing to save") && Contains("no model"));
  CHECK(train::CheckpointStore(streams / "checkpoints", 1).names().empty());
  CHECK_FALSE(fs::exists(streams / "model/model.safetensors"));
}

TEST_CASE("a stop while an evaluation's pipe is stalled saves a checkpoint and ends at once") {
  Streams streams;
  streams.write("inputdataconfig", kOnePipe);
  const Channel train(streams.channel("train"), streams.tar("a", 16));
  const Channel stalls("mkfifo \"$0_0\"; { head -c 24000 \"$1\"; sleep 1000; } >\"$0_0\"",
                       streams.channel("eval"), streams.tar("c", 40));
  std::optional<std::chrono::steady_clock::time_point> trained;
  bool asked = false;
  const auto stop_when_it_waits = [&](pid_t group) {
    using Clock = std::chrono::steady_clock;
    const auto history = test::read_text(streams / "output/data/history.jsonl");
    if (!trained && history.find("\"step\":2") != std::string::npos) trained = Clock::now();
    if (!asked && trained && Clock::now() - *trained > std::chrono::seconds(2))
      asked = ::kill(group, SIGTERM) == 0;
    return false;
  };
  const auto run = streams.train({"--nproc", "2", "--train-samples", "16", "--print-freq", "1"},
                                 stop_when_it_waits);
  INFO(run.err);
  CHECK(asked);
  CHECK(run.exit_code == 0);
  // The watchdog, which saves after --stop-timeout, did not end the run.
  CHECK_THAT(run.err, !Contains("stopped by SIGTERM while"));
  CHECK(train::CheckpointStore(streams / "checkpoints", 1).entries().front().step == 2);
}

TEST_CASE("a process whose pipe is stalled is named, and the run ends") {
  Streams streams;
  streams.write("inputdataconfig", kPerRank);
  const Channel zero(streams.channel("train_0"), streams.tar("a", 40));
  const Channel starved("mkfifo \"$0_0\"; { head -c 24000 \"$1\"; sleep 1000; } >\"$0_0\"",
                        streams.channel("train_1"), streams.tar("b", 40));
  const Channel eval(streams.channel("eval"), streams.tar("c", 4));
  const auto run = streams.train({"--nproc", "2", "--train-samples", "80", "--shuffle-buffer", "0",
                                  "--stall-warning", "2", "--collective-timeout", "6"});
  INFO(run.err);
  CHECK(run.exit_code == 1);
  CHECK_THAT(run.err, Contains("rank 1") && Contains("reading images") && Contains("train_1_0"));
  CHECK(fs::exists(streams / "output/failure"));
}
