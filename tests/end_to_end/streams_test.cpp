// Tests training from pipes that other processes write, and from files that are read sequentially.

#include "tests/end_to_end/streams.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "train/checkpoint/checkpoint_store.h"

using namespace shoal;
using Catch::Contains;
using test::Channel;
using test::kOnePipe;
using test::kPerRank;
using test::PerRank;
using test::Streams;
namespace fs = std::filesystem;
using Words = std::vector<std::string>;

TEST_CASE("two processes train from one pipe each, and rank 0 evaluates all images of its pipe") {
  Streams streams;
  const PerRank pipes(streams, 16, 20, 10);
  const auto run = streams.train({"--nproc", "2", "--epochs", "2", "--train-samples", "32"});
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  CHECK(run.out.find("valid:images=10") != std::string::npos);
  CHECK(run.err.find("ended after") == std::string::npos);
  const auto entries = train::CheckpointStore(streams / "checkpoints", 1).entries();
  CHECK(entries.front().step == 8);  // 2 epochs of 32 / (2 × 4)
}

TEST_CASE("without --train-samples an epoch ends on all ranks when the first pipe ends") {
  Streams streams;
  const PerRank pipes(streams, 30, 13, 4);
  const auto run = streams.train({"--nproc", "2", "--max-steps", "8"});
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  CHECK_THAT(run.err, Contains("epoch 0 ended after 3 ") && Contains("rank 1") &&
                          Contains("19 images") && Contains("epoch 1 ended after 3 "));
  const auto none = streams.train(
      {"--nproc", "2", "--output", streams.made("x"), "--checkpoint-dir", streams.made("y")});
  CHECK(none.exit_code == 2);
  CHECK_THAT(none.err, Contains("--train-samples N") && Contains("--max-steps N"));
}

TEST_CASE("the processes of a host share one pipe") {
  Streams streams;
  streams.write("inputdataconfig", R"({"train": {"TrainingInputMode": "Pipe"},
                                       "validation": {"TrainingInputMode": "Pipe"}})");
  const Channel train(streams.channel("train"), streams.tar("a", 26));
  const Channel val(streams.channel("validation"), streams.tar("c", 5));
  const auto run = streams.train({"--nproc", "2", "--max-steps", "6"});
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  // Each process has 13 images: three batches of 4.
  CHECK_THAT(run.err, Contains("epoch 0 ended after 3 ") && Contains("2 images"));
  CHECK(run.out.find("valid:images=5;") != std::string::npos);
}

TEST_CASE("a pipe that ends before --steps-per-epoch ends the epoch with a warning") {
  Streams streams;
  const PerRank pipes(streams, 20, 9, 4);
  const auto run = streams.train({"--nproc", "2", "--epochs", "1", "--steps-per-epoch", "4"});
  INFO(run.err);
  CHECK_THAT(run.err, Contains("epoch 0 ended after 2 of 4 "));
}

TEST_CASE("different numbers of pipes and processes are an error") {
  Streams streams;
  streams.write("inputdataconfig", kPerRank);
  const auto run = streams.train({"--nproc", "3", "--max-steps", "2"});
  CHECK(run.exit_code == 2);
  CHECK_THAT(run.err, Contains("2 pipes") && Contains("--nproc 2"));
}

TEST_CASE(
    "a run that resumes in the middle of a pipe ends with the same bits as an uninterrupted run") {
  const auto last = [](const Words& first, const Words& second) {
    Streams streams;
    streams.write("inputdataconfig", kOnePipe);
    const fs::path train = streams.tar("a", 24), eval = streams.tar("c", 4);
    for (const Words& words : {first, second}) {
      if (words.empty()) continue;
      // In a new container the pipes are numbered from 0 again.
      for (const auto& left : fs::directory_iterator(streams.channel(""))) fs::remove(left.path());
      const Channel one(streams.channel("train"), train), two(streams.channel("eval"), eval);
      const auto run = streams.train(words);
      INFO(run.err);
      REQUIRE(run.exit_code == 0);
    }
    return test::read_text(streams / "model/model.safetensors");
  };
  const Words whole = {"--train-samples", "24", "--epochs", "1"};
  Words stopped = whole;
  stopped.insert(stopped.end(), {"--max-steps", "2"});
  const bool same = last(stopped, {"--resume"}) == last(whole, {});
  CHECK(same);  // a comparison within CHECK would print the models
}

TEST_CASE("tars that are read sequentially give every image, and a resumed run the same bits") {
  const auto last = [](const std::vector<Words>& runs) {
    Streams streams;
    streams.write("inputdataconfig", R"({"train": {"TrainingInputMode": "FastFile"},
                                         "val": {"TrainingInputMode": "FastFile"}})");
    for (const std::string channel : {"train", "val"}) {
      fs::create_directories(streams.channel(channel));
      for (const auto& [name, images] : {std::pair("a", 9), {"b", 8}, {"c", 11}})
        fs::rename(streams.tar(channel + name, images),
                   streams.channel(channel) / (std::string(name) + ".tar"));
    }
    for (const Words& words : runs) {
      const auto run = streams.train(words);
      INFO(run.err);
      REQUIRE(run.exit_code == 0);
      CHECK_THAT(run.err, Contains("read sequentially") && !Contains("ended after"));
      CHECK_THAT(run.out, Contains("valid:images=28"));
    }
    const auto entries = train::CheckpointStore(streams / "checkpoints", 1).entries();
    CHECK(entries.front().step == 6);  // 2 epochs of 28 / (2 × 4), rounded down
    return test::read_text(streams / "model/model.safetensors");
  };
  const Words whole = {"--nproc", "2", "--epochs", "2"};
  CHECK(last({whole}) == last({{"--nproc", "2", "--epochs", "2", "--max-steps", "4"},
                               {"--nproc", "2", "--resume"}}));
}

TEST_CASE("class names in another order are refused at --resume") {
  Streams streams;
  streams.write("inputdataconfig", R"({"train": {"TrainingInputMode": "FastFile"},
                                       "val": {"TrainingInputMode": "FastFile"}})");
  for (const std::string channel : {"train", "val"}) {
    fs::create_directories(streams.channel(channel));
    fs::rename(streams.tar(channel, 9), streams.channel(channel) / "a.tar");
  }
  REQUIRE(streams.train({"--epochs", "1"}).exit_code == 0);
  std::ofstream(streams.made("reversed")) << "class_00001\nclass_00000\n";
  const auto resumed =
      streams.train({"--resume", "--epochs", "2", "--classes", streams.made("reversed")});
  CHECK(resumed.exit_code == 2);
  CHECK_THAT(resumed.err, Contains("another order"));
  CHECK(streams.train({"--resume", "--epochs", "2"}).exit_code == 0);
}
