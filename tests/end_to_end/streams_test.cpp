// Tests training from pipes that other processes write, and on hosts with different images.

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "program.h"
#include "train/checkpoint/checkpoint_store.h"

using namespace shoal;
using Catch::Contains;
namespace fs = std::filesystem;
using Words = std::vector<std::string>;

namespace {

// A process that writes a channel like SageMaker's Pipe mode. It makes the pipe CHANNEL_0 and
// writes the object into it. When the reader closes the pipe, it makes CHANNEL_1, and so on until
// the destructor kills it.
class Channel {
 public:
  Channel(const fs::path& channel, const fs::path& object)
      : Channel(
            "e=0; while :; do mkfifo \"$0_$e\"; cat \"$1\" >\"$0_$e\"; rm -f \"$0_$e\"; "
            "e=$((e+1)); done",
            channel, object) {}
  // Runs the shell script `script` instead, in which $0 is the channel and $1 the object.
  Channel(const std::string& script, const fs::path& channel, const fs::path& object)
      : process_(::fork()) {
    REQUIRE(process_ >= 0);
    if (process_ > 0) return;
    ::setpgid(0, 0);
    ::signal(SIGPIPE, SIG_DFL);
    ::execl("/bin/sh", "sh", "-c", script.c_str(), channel.c_str(), object.c_str(), nullptr);
    ::_exit(127);
  }
  ~Channel() {
    ::kill(-process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

 private:
  pid_t process_;
};

class Streams {
 public:
  Streams() {
    write("resourceconfig", R"({"current_host": "algo-1", "hosts": ["algo-1"]})");
    fs::create_directories(base_ / "input/data");
    std::ofstream(directory_.path() / "names") << "class_00000\nclass_00001\n";
  }

  fs::path operator/(const std::string& name) const { return base_ / name; }
  fs::path made(const std::string& name) const { return directory_.path() / name; }
  fs::path channel(const std::string& name) const { return base_ / "input/data" / name; }

  void write(const std::string& config, const std::string& text) {
    fs::create_directories(base_ / "input/config");
    std::ofstream(base_ / "input/config" / (config + ".json")) << text;
  }

  // Makes a tar of class folders with GNU tar. The names of the images begin with `name`.
  fs::path tar(const std::string& name, int images) {
    const fs::path folder = made(name), file = made(name + ".tar");
    test::make_images(folder, images, 2, 2, 40);
    const std::string command = "tar -C '" + (folder / "train").string() + "' -cf '" +
                                file.string() + "' --transform 's,\\([^/]*[.][a-z]*\\)$," + name +
                                "\\1,' .";
    REQUIRE(std::system(command.c_str()) == 0);
    return file;
  }

  test::Outcome train(const Words& more, const std::function<bool(pid_t)>& watch = {}) const {
    Words words = {"train",     "--model", "efficientnet_b0",
                   "--size",    "32",      "--batch-size",
                   "4",         "--lr",    "0.02",
                   "--threads", "1",       "--workers",
                   "1"};
    const bool resumed = std::find(more.begin(), more.end(), "--resume") != more.end();
    if (!resumed) words.insert(words.end(), {"--classes", made("names")});
    words.insert(words.end(), more.begin(), more.end());
    return test::run_shoal(words, {"SAGEMAKER_BASE_DIR=" + base_.string()}, watch);
  }

 private:
  test::TemporaryDirectory directory_;
  fs::path base_ = directory_.path() / "ml";
};

const std::string kPerRank = R"({
    "train_0": {"TrainingInputMode": "Pipe"}, "train_1": {"TrainingInputMode": "Pipe"},
    "eval": {"TrainingInputMode": "Pipe"}})";

// Pipes with `first` images for rank 0, `second` for rank 1 and `val` for evaluation.
struct PerRank {
  PerRank(Streams& streams, int first, int second, int val)
      : zero(configured(streams).channel("train_0"), streams.tar("a", first)),
        one(streams.channel("train_1"), streams.tar("b", second)),
        eval(streams.channel("eval"), streams.tar("c", val)) {}
  static Streams& configured(Streams& streams) {
    streams.write("inputdataconfig", kPerRank);
    return streams;
  }
  const Channel zero, one, eval;
};

}  // namespace

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
    streams.write("inputdataconfig", R"({"train": {"TrainingInputMode": "Pipe"},
                                         "eval": {"TrainingInputMode": "Pipe"}})");
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
  // Exports the last weights: the stop at step 2 adds an evaluation, which could be the best.
  const Words whole = {"--train-samples", "24", "--epochs", "1", "--export", "last"};
  Words stopped = whole;
  stopped.insert(stopped.end(), {"--max-steps", "2"});
  const bool same = last(stopped, {"--resume", "--export", "last"}) == last(whole, {});
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

TEST_CASE("a writer that dies in the middle of an image fails the job and names the pipe") {
  Streams streams;
  streams.write("inputdataconfig", R"({"train": {"TrainingInputMode": "Pipe"},
                                       "eval": {"TrainingInputMode": "Pipe"}})");
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
  streams.write("inputdataconfig", R"({"train": {"TrainingInputMode": "Pipe"},
                                       "eval": {"TrainingInputMode": "Pipe"}})");
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
  CHECK(train::CheckpointStore(streams / "checkpoints", 1).entries().front().step == 1);
}

TEST_CASE("a stop before the first step exports no model") {
  Streams streams;
  streams.write("inputdataconfig", R"({"train": {"TrainingInputMode": "Pipe"},
                                       "eval": {"TrainingInputMode": "Pipe"}})");
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
  CHECK_THAT(run.err, Contains("no model"));
  CHECK_FALSE(fs::exists(streams / "model/model.safetensors"));
}

TEST_CASE("a stop while an evaluation's pipe is stalled saves a checkpoint and ends at once") {
  Streams streams;
  streams.write("inputdataconfig", R"({"train": {"TrainingInputMode": "Pipe"},
                                       "eval": {"TrainingInputMode": "Pipe"}})");
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

namespace {

// Runs two processes as two hosts, each with its own images.
std::vector<test::Outcome> two_hosts(const fs::path& folder, const Words& more, int port) {
  std::vector<test::Invocation> hosts;
  for (const char* rank : {"0", "1"}) {
    const fs::path host = folder / (std::string("host") + rank);
    Words words = {test::shoal_program(),
                   "train",
                   "--data",
                   host,
                   "--output",
                   folder / "run",
                   "--model",
                   "efficientnet_b0",
                   "--size",
                   "32",
                   "--batch-size",
                   "4",
                   "--epochs",
                   "1",
                   "--lr",
                   "0.02",
                   "--threads",
                   "1",
                   "--workers",
                   "1"};
    words.insert(words.end(), more.begin(), more.end());
    hosts.push_back(
        {words,
         {std::string("RANK=") + rank, "LOCAL_RANK=0", "WORLD_SIZE=2", "LOCAL_WORLD_SIZE=1",
          "MASTER_ADDR=127.0.0.1", "MASTER_PORT=" + std::to_string(port)}});
  }
  return test::run_together(hosts);
}

}  // namespace

TEST_CASE("hosts with different images agree on classes and steps") {
  test::TemporaryDirectory directory;
  const fs::path root = directory.path();
  test::make_images(root / "host0", 18, 6, 3, 40);
  test::make_images(root / "host1", 12, 9, 3, 40);
  // Each host lacks one class.
  const auto first_class = [](const fs::path& half, bool last) {
    std::vector<fs::path> classes(fs::directory_iterator(half), {});
    std::sort(classes.begin(), classes.end());
    return last ? classes.back() : classes.front();
  };
  for (const char* half : {"train", "val"}) {
    fs::remove_all(first_class(root / "host0" / half, false));
    fs::remove_all(first_class(root / "host1" / half, true));
  }
  const auto runs = two_hosts(root, {"--sharded", "both"}, 29617);
  INFO(runs[0].err << runs[1].err);
  REQUIRE((runs[0].exit_code == 0 && runs[1].exit_code == 0));
  CHECK(nlohmann::json::parse(test::read_text(root / "run/classes.json")).size() == 3);
  // The hosts have 12 and 8 training images, and 4 and 6 validation images.
  CHECK(train::CheckpointStore(root / "run/checkpoints", 1).entries().front().step == 2);
  CHECK(runs[0].out.find("valid:images=10") != std::string::npos);
  CHECK_THAT(runs[0].err, Contains("20 train and 10 val images"));
  CHECK_THAT(runs[0].err, Contains("4 images left out"));
}

TEST_CASE("without --sharded, hosts with different images are named before the first step") {
  test::TemporaryDirectory directory;
  test::make_images(directory.path() / "host0", 18, 6, 3, 40);
  test::make_images(directory.path() / "host1", 15, 6, 3, 40);
  const auto runs = two_hosts(directory.path(), {}, 29618);
  CHECK((runs[0].exit_code == 1 && runs[1].exit_code == 1));
  CHECK_THAT(runs[0].err, Contains("--train") && Contains("rank 1") && Contains("15 images") &&
                              Contains("--sharded"));
}
