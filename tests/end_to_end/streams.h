#pragma once
// Runs training in a simulated SageMaker container whose channels are pipes.

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "tests/support/program.h"

namespace shoal::test {

// A process that writes a channel like SageMaker's Pipe mode. It makes the pipe CHANNEL_0 and
// writes the file `object` into it. When the reader closes the pipe, the process makes CHANNEL_1,
// and so on until the destructor kills it.
class Channel {
 public:
  Channel(const std::filesystem::path& channel, const std::filesystem::path& object)
      : Channel(
            "e=0; while :; do mkfifo \"$0_$e\"; cat \"$1\" >\"$0_$e\"; rm -f \"$0_$e\"; "
            "e=$((e+1)); done",
            channel, object) {}
  // Writes the channel with the shell script `script`, in which $0 is the channel, $1 the object.
  Channel(const std::string& script, const std::filesystem::path& channel,
          const std::filesystem::path& object)
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

// A SageMaker container with one host, and images to stream.
class Streams {
 public:
  Streams() {
    write("resourceconfig", R"({"current_host": "algo-1", "hosts": ["algo-1"]})");
    std::filesystem::create_directories(base_ / "input/data");
    std::ofstream(directory_.path() / "names") << "class_00000\nclass_00001\n";
  }

  std::filesystem::path operator/(const std::string& name) const { return base_ / name; }
  std::filesystem::path made(const std::string& name) const { return directory_.path() / name; }
  std::filesystem::path channel(const std::string& name) const {
    return base_ / "input/data" / name;
  }

  void write(const std::string& config, const std::string& text) {
    std::filesystem::create_directories(base_ / "input/config");
    std::ofstream(base_ / "input/config" / (config + ".json")) << text;
  }

  // Makes a tar of class folders with GNU tar. The names of the images begin with `name`.
  std::filesystem::path tar(const std::string& name, int images) {
    const std::filesystem::path folder = made(name), file = made(name + ".tar");
    make_images(folder, images, 2, 2, 40);
    const std::string command = "tar -C '" + (folder / "train").string() + "' -cf '" +
                                file.string() + "' --transform 's,\\([^/]*[.][a-z]*\\)$," + name +
                                "\\1,' .";
    REQUIRE(std::system(command.c_str()) == 0);
    return file;
  }

  Outcome train(const std::vector<std::string>& more,
                const std::function<bool(pid_t)>& watch = {}) const {
    std::vector<std::string> words = {"train",     "--model", "mobilenet_v3_small",
                                      "--size",    "32",      "--batch-size",
                                      "4",         "--lr",    "0.02",
                                      "--threads", "1",       "--workers",
                                      "1"};
    const bool resumed = std::find(more.begin(), more.end(), "--resume") != more.end();
    if (!resumed) words.insert(words.end(), {"--classes", made("names")});
    words.insert(words.end(), more.begin(), more.end());
    return run_shoal(words, {"SAGEMAKER_BASE_DIR=" + base_.string()}, watch);
  }

 private:
  TemporaryDirectory directory_;
  std::filesystem::path base_ = directory_.path() / "ml";
};

// SageMaker's inputdataconfig: one training pipe for all processes, and one per process.
inline const std::string kOnePipe = R"({
    "train": {"TrainingInputMode": "Pipe"}, "eval": {"TrainingInputMode": "Pipe"}})";
inline const std::string kPerRank = R"({
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

}  // namespace shoal::test
