// Tests how runs end: signals, exit codes, and a second run in the same folder.

#include <signal.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <sstream>

#include "base/now.h"
#include "tests/support/program.h"
#include "train/checkpoint/checkpoint_store.h"

using namespace shoal;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

// A folder with images, and commands that would train there for minutes.
struct Place {
  Place() { test::make_images(root() / "data", 1200, 4, 2, 32); }

  fs::path root() const { return directory.path(); }
  fs::path output() const { return root() / "run"; }
  std::vector<std::string> words(const std::vector<std::string>& more = {}) const {
    // clang-format off
    std::vector<std::string> words = {
        "train", "--data", (root() / "data").string(), "--output", output().string(),
        "--model", "mobilenet_v3_small", "--size", "32", "--batch-size", "2", "--lr", "0.001",
        "--epochs", "1000", "--print-freq", "1", "--threads", "1", "--workers", "1"};
    // clang-format on
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  bool has_made_a_step() const { return !test::read_text(output() / "history.jsonl").empty(); }
  // Replaces all images by pipes without a writer.
  void make_images_hang() const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::recursive_directory_iterator(root() / "data"))
      if (entry.is_regular_file()) files.push_back(entry.path());
    for (const fs::path& file : files) test::replace_by_pipe(file);
  }
  // Returns the checkpoints, newest first.
  std::vector<train::CheckpointEntry> checkpoints() const {
    return train::CheckpointStore(output() / "checkpoints", 1).entries();
  }

  test::TemporaryDirectory directory;
};

// Returns whether the process has handled all signals that were sent to it.
bool all_signals_handled(pid_t process) {
  const std::string status = test::read_text("/proc/" + std::to_string(process) + "/status");
  return status.find("ShdPnd:\t0000000000000000") != status.npos;
}

// Returns whether the worker process has installed a handler for the signal.
bool handles(pid_t process, int signal, const std::string& program = "shoal-worker") {
  const std::string proc = "/proc/" + std::to_string(process);
  if (test::read_text(proc + "/comm") != program + "\n") return false;
  std::istringstream status(test::read_text(proc + "/status"));
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("SigCgt:"))
      return std::stoull(line.substr(8), nullptr, 16) >> (signal - 1) & 1;
  return false;
}

bool has_threads(pid_t process) {
  std::error_code ended;
  const fs::directory_iterator tasks("/proc/" + std::to_string(process) + "/task", ended);
  return std::distance(begin(tasks), end(tasks)) > 1;
}

// Runs shoal and, after its first step, sends it the signals one by one: each when the previous one
// was handled.
test::Outcome run_and_signal(const Place& place, const std::vector<std::string>& more,
                             std::vector<int> signals) {
  size_t sent = 0;
  return test::run_shoal(place.words(more), {}, [&](pid_t pid) {
    if (sent < signals.size() && place.has_made_a_step() && all_signals_handled(pid))
      ::kill(pid, signals[sent++]);
    return false;
  });
}

}  // namespace

TEST_CASE("SIGHUP and SIGINT finish the step and save") {
  struct Case {
    std::string nproc;
    std::vector<int> signals;
    int code;
  };
  // When a terminal closes, the kernel and the shell may both send SIGHUP.
  for (const auto& [nproc, signals, code] :
       {Case{"2", {SIGHUP, SIGHUP}, 143}, Case{"1", {SIGINT}, 130}}) {
    const Place place;
    const auto run = run_and_signal(place, {"--nproc", nproc}, signals);
    INFO(run.err);
    CHECK(run.exit_code == code);
    REQUIRE(place.checkpoints().size() == 1);
    CHECK(place.checkpoints()[0].step > 0);
    CHECK_THAT(run.err, Contains("stopped by") && Contains("--resume"));
  }
}

TEST_CASE("a run that a script starts in the background, with SIGINT ignored, ignores SIGINT") {
  for (const std::string nproc : {"1", "2"}) {
    const Place place;
    std::vector<std::string> words = {"-c", "trap '' INT; exec \"$@\"", "sh",
                                      test::shoal_program()};
    size_t sent = 0;
    const auto run = test::run_program(
        "sh", test::joined(words, place.words({"--nproc", nproc})), {}, [&](pid_t pid) {
          const std::vector<int> signals = {SIGINT, SIGTERM};
          if (sent < signals.size() && place.has_made_a_step() && all_signals_handled(pid))
            ::kill(pid, signals[sent++]);
          return false;
        });
    INFO(run.err);
    CHECK(run.exit_code == 143);
    CHECK_THAT(run.err, Contains("stopped by SIGTERM"));
    CHECK(place.checkpoints().size() == 1);
  }
}

TEST_CASE("a second SIGTERM or SIGINT ends the run immediately without saving") {
  const auto [nproc, signal] = GENERATE(
      table<const char*, int>({{"1", SIGTERM}, {"1", SIGINT}, {"2", SIGTERM}, {"2", SIGINT}}));
  const Place place;
  int sent = 0;
  double last = 0;
  const auto run = test::run_shoal(place.words({"--nproc", nproc}), {}, [&](pid_t pid) {
    if (last == 0 && place.has_made_a_step()) {
      place.make_images_hang();  // so that no step ends after the first signal
      last = now();
    }
    if (last > 0 && sent < 2 && now() - last >= 1.1) {
      ++sent, last = now();
      ::kill(pid, signal);
    }
    return false;
  });
  INFO(run.err);
  CHECK(run.exit_code == 128 + signal);
  CHECK_THAT(run.err, Contains("second signal"));
  CHECK(place.checkpoints().empty());
}

TEST_CASE("a stop signal that arrives several times at once, as from `timeout`, still saves") {
  const Place place;
  bool sent = false;
  const auto run =
      test::run_shoal(place.words({"--accumulate", "40", "--nproc", "2"}), {}, [&](pid_t pid) {
        if (sent || !place.has_made_a_step()) return false;
        for (const int rank : {0, 1}) CHECK(test::signal_worker(pid, rank, SIGTERM));
        ::kill(pid, SIGTERM);
        ::usleep(20'000);
        sent = ::kill(pid, SIGTERM) == 0;
        return false;
      });
  INFO(run.err);
  CHECK(run.exit_code == 143);
  REQUIRE(place.checkpoints().size() == 1);
  CHECK_THAT(run.err, !Contains("second signal"));
}

TEST_CASE("SIGUSR1 saves a checkpoint and the run continues") {
  for (const std::string nproc : {"1", "2"}) {
    const Place place;
    bool asked = false, stopped = false;
    const auto run = test::run_shoal(place.words({"--nproc", nproc}), {}, [&](pid_t pid) {
      if (!asked && place.has_made_a_step()) asked = ::kill(pid, SIGUSR1) == 0;
      if (asked && !stopped && !place.checkpoints().empty()) stopped = ::kill(pid, SIGTERM) == 0;
      return false;
    });
    INFO(run.err);
    CHECK(run.exit_code == 143);
    const auto saved = place.checkpoints();
    REQUIRE(saved.size() >= 2);      // one for SIGUSR1, one for SIGTERM
    CHECK(saved.back().epoch == 0);  // saved within the first epoch
    CHECK(saved.back().step < saved.front().step);
  }
}

TEST_CASE("a missing shoal-worker ends with exit code 3") {
  const Place place;
  const fs::path alone = place.root() / "shoal";
  fs::copy_file(test::shoal_program(), alone);
  const auto run = test::run_program(alone.string(), place.words());
  CHECK(run.exit_code == 3);
  CHECK_THAT(run.err, Contains("shoal: error: ") && Contains("shoal-worker"));
}

TEST_CASE("a process whose peer was killed saves, ends with exit code 4, and can resume") {
  const Place place;
  const std::string port = "MASTER_PORT=" + test::free_port();
  const auto pod = [&](const std::string& rank) -> test::Invocation {
    auto words = place.words();  // no checkpoint is due for minutes
    words.insert(words.begin(), test::shoal_program());
    return {words, {"MASTER_ADDR=localhost", port, "WORLD_SIZE=2", "RANK=" + rank}};
  };
  bool killed = false;
  const auto runs =
      test::run_together({pod("0"), pod("1")}, [&](const std::vector<pid_t>& processes) {
        if (!killed && place.has_made_a_step()) killed = ::kill(-processes[1], SIGKILL) == 0;
        return false;
      });
  INFO(runs[0].err);
  CHECK(runs[1].exit_code == 128 + SIGKILL);
  CHECK(runs[0].exit_code == 4);
  CHECK_THAT(runs[0].err, Contains("shoal: error: rank 0"));
  REQUIRE(place.checkpoints().size() == 1);
  CHECK(place.checkpoints()[0].step > 0);
  const std::string next = std::to_string(place.checkpoints()[0].step + 1);
  CHECK(test::run_shoal(place.words({"--nproc", "2", "--resume", "--max-steps", next})).exit_code ==
        0);
}

TEST_CASE("a killed process of --nproc ends the run with 128 + N, and the message names it") {
  const Place place;
  bool killed = false;
  const auto run = test::run_shoal(place.words({"--nproc", "2"}), {}, [&](pid_t shoal) {
    if (killed || !place.has_made_a_step()) return false;
    const std::string pid = std::to_string(shoal);
    std::istringstream children(test::read_text("/proc/" + pid + "/task/" + pid + "/children"));
    pid_t first = 0, second = 0;
    if (children >> first >> second) killed = ::kill(second, SIGKILL) == 0;
    return false;
  });
  INFO(run.err);
  REQUIRE(killed);
  CHECK(run.exit_code == 128 + SIGKILL);
  CHECK_THAT(run.err, Contains("rank 1") && Contains("SIGKILL") && Contains("--resume"));
}

TEST_CASE("a second run in the same output or checkpoint folder is refused") {
  const Place place;
  const std::string checkpoints = (place.root() / "shared").string();
  const std::vector<std::string> first = {"--checkpoint-dir", checkpoints};
  struct Second {
    std::string option, output, checkpoints;
  };
  const std::vector<Second> seconds = {
      {"--output", place.output().string(), (place.root() / "other").string()},
      {"--checkpoint-dir", (place.root() / "second").string(), checkpoints}};
  bool tried = false;
  const auto run = test::run_shoal(place.words(first), {}, [&](pid_t pid) {
    if (tried || !place.has_made_a_step()) return false;
    tried = true;
    for (const auto& one : seconds) {
      const auto refused = test::run_shoal(place.words(
          {"--output", one.output, "--checkpoint-dir", one.checkpoints, "--max-steps", "1"}));
      INFO(refused.err);
      CHECK(refused.exit_code == 1);
      CHECK_THAT(refused.err, Contains("another run") && Contains(one.option));
    }
    return ::kill(pid, SIGTERM) != 0;
  });
  INFO(run.err);
  REQUIRE(tried);
  CHECK(run.exit_code == 143);  // the first run was not disturbed
  CHECK_FALSE(train::CheckpointStore(checkpoints, 1).entries().empty());
}

TEST_CASE("SIGTERM, SIGINT or SIGHUP ends a command that waits for its settings") {
  const test::TemporaryDirectory directory;
  const fs::path settings = directory.path() / "config.toml";
  REQUIRE(::mkfifo(settings.c_str(), 0600) == 0);
  fs::create_directories(directory.path() / "ml/input/config");
  const auto [command, signal, on_platform, code] =
      GENERATE(table<const char*, int, bool, int>({{"train", SIGTERM, false, 143},
                                                   {"train", SIGTERM, true, 0},
                                                   {"eval", SIGTERM, true, 143},
                                                   {"eval", SIGHUP, false, 143},
                                                   {"predict", SIGINT, false, 130}}));
  std::vector<std::string> environment;
  if (on_platform) environment = {"SAGEMAKER_BASE_DIR=" + (directory.path() / "ml").string()};
  bool sent = false;
  const auto run =
      test::run_shoal({command, "--config", settings.string()}, environment, [&](pid_t shoal) {
        if (!sent && handles(shoal, signal, "shoal")) sent = ::kill(shoal, signal) == 0;
        return false;
      });
  INFO(run.err);
  REQUIRE(sent);
  CHECK(run.exit_code == code);
  CHECK_THAT(run.err, Catch::Contains("stopped while it read its settings"));
}

TEST_CASE("SIGTERM, SIGINT or SIGHUP ends eval and predict with one sentence") {
  const Place place;
  REQUIRE(test::run_shoal(place.words({"--max-steps", "1"})).exit_code == 0);
  const auto [command, nproc, signal] = GENERATE(table<const char*, const char*, int>(
      {{"eval", "1", SIGHUP}, {"eval", "2", SIGINT}, {"predict", "2", SIGTERM}}));
  std::vector<std::string> words = {command,      "--weights", place.output().string(),
                                    "--nproc",    nproc,       "--threads",
                                    "1",          "--workers", "1",
                                    "--val-size", "224"};
  const std::string images = (place.root() / "data").string();
  if (command == std::string("eval"))
    words.insert(words.end(), {"--val", images + "/train"});
  else
    words.push_back(images);
  bool sent = false;
  const auto run = test::run_shoal(words, {}, [&](pid_t shoal) {
    const pid_t first = nproc == std::string("1") ? shoal : test::worker_of(shoal, 0);
    // While a process has only one thread, it may still be reading its settings. A signal then ends
    // it with another message.
    if (!sent && first > 0 && has_threads(first) && handles(first, signal))
      sent = ::kill(shoal, signal) == 0;
    return false;
  });
  INFO(run.err);
  REQUIRE(sent);
  CHECK(run.exit_code == (signal == SIGINT ? 130 : 143));
  const size_t at = run.err.find("interrupted before the end");
  REQUIRE(at != run.err.npos);
  CHECK(run.err.find("interrupted before the end", at + 1) == run.err.npos);
}
