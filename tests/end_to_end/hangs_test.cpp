// Tests commands that would wait for ever: for an image on hanging storage, for a reader of their
// output, or for a stopped or killed process. A stop signal must save the state and end them.

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

#include "base/file/descriptor.h"
#include "base/file/folder.h"
#include "base/now.h"
#include "tests/support/program.h"
#include "train/checkpoint/checkpoint_store.h"

using namespace shoal;
using Catch::Matchers::Contains;
namespace fs = std::filesystem;

namespace {

constexpr int kLastStep = 18;       // 6 epochs of 3 steps
constexpr double kEndSeconds = 60;  // limit of a run that is stopped; --stop-timeout is 4 s

// `nproc` 0: environment variables give the rank and the world size.
std::vector<std::string> command(const fs::path& root, const std::string& name, int nproc,
                                 bool resume = false, const std::string& epochs = "6") {
  // clang-format off
  std::vector<std::string> words = {
      "train", "--data", (root / "data").string(), "--output", (root / name).string(),
      "--threads", "1", "--workers", "1",
      "--model", "mobilenet_v3_small", "--size", "32", "--global-batch-size", "12", "--epochs",
      epochs,
      "--lr", "0.02", "--ema", "0.9", "--print-freq", "2", "--stop-timeout", "4",
      "--stall-warning", "1"};
  // clang-format on
  if (nproc > 0) words.insert(words.end(), {"--nproc", std::to_string(nproc)});
  if (resume) words.push_back("--resume");
  return words;
}

// An image whose reader blocks: a FIFO without a writer replaces it until restore() is called.
class HangingImage {
 public:
  explicit HangingImage(const fs::path& split) : saved_(split.parent_path() / "saved") {
    for (const auto& entry : fs::recursive_directory_iterator(split))
      if (entry.is_regular_file()) image_ = entry.path();
  }
  void hang() {
    fs::create_hard_link(image_, saved_);
    test::replace_by_pipe(image_);
  }
  void restore() { fs::rename(saved_, image_); }
  std::string name() const { return image_.filename().string(); }

 private:
  fs::path saved_, image_;
};

fs::path with_images(const test::TemporaryDirectory& directory) {
  test::make_images(directory.path() / "data", 36, 8, 2, 40);
  return directory.path();
}

train::CheckpointEntry last_checkpoint(const fs::path& run) {
  const auto entries = train::CheckpointStore(run / "checkpoints", 1).entries();
  REQUIRE_FALSE(entries.empty());
  return entries.front();
}

// Resumes the run and compares it with one that was not disturbed.
void require_exact_resume(const fs::path& root, int nproc) {
  REQUIRE(test::run_shoal(command(root, "whole", nproc)).exit_code == 0);
  const auto resumed = test::run_shoal(command(root, "run", nproc, /*resume=*/true));
  INFO(resumed.err);
  REQUIRE(resumed.exit_code == 0);
  CHECK_THAT(resumed.err, !Contains("fresh start"));
  REQUIRE(last_checkpoint(root / "run").step == kLastStep);
  REQUIRE(last_checkpoint(root / "run").checksum == last_checkpoint(root / "whole").checksum);
}

bool has_trained(const fs::path& root) {
  return !test::read_text(root / "run" / "history.jsonl").empty();
}

bool says(pid_t shoal, const std::string& text) {
  return test::stderr_of(shoal).find(text) != std::string::npos;
}

// Makes the image hang once the run has trained, and calls `then` once shoal reports the stall.
test::Outcome run_with_hanging_image(const fs::path& root, int nproc, HangingImage& image,
                                     const std::function<void(pid_t shoal)>& then) {
  int stage = 0;
  const auto watch = [&](pid_t shoal) {
    if (stage == 0 && has_trained(root)) {
      image.hang();
      stage = 1;
    }
    if (stage == 1 && says(shoal, image.name())) {
      then(shoal);
      stage = 2;
    }
    return false;
  };
  const auto outcome = test::run_shoal(command(root, "run", nproc), {}, watch, kEndSeconds);
  INFO(outcome.err);
  CHECK(stage == 2);
  image.restore();
  return outcome;
}

}  // namespace

TEST_CASE("a run that waits for an image is named, and SIGTERM saves it") {
  const auto [split, nproc] =
      GENERATE(table<const char*, int>({{"train", 1}, {"train", 2}, {"val", 1}, {"val", 2}}));
  const test::TemporaryDirectory directory;
  const fs::path root = with_images(directory);
  HangingImage image(root / "data" / split);
  const auto stopped =
      run_with_hanging_image(root, nproc, image, [](pid_t shoal) { ::kill(shoal, SIGTERM); });
  INFO(split << " " << nproc << "\n" << stopped.err);
  REQUIRE(stopped.exit_code == 143);
  CHECK_THAT(stopped.err, Contains("no progress for") && Contains("reading images"));
  CHECK_THAT(stopped.err, Contains("stopped by SIGTERM while") && Contains("is saved"));
  CHECK_THAT(stopped.err, !Contains("shoal: error"));
  require_exact_resume(root, nproc);
}

TEST_CASE("SIGTERM saves and ends a run whose output nobody reads") {
  const auto [redirections, nproc] = GENERATE(table<const char*, int>(
      {{">\"$P\"", 1}, {">\"$P\"", 2}, {">\"$P\" 2>&1", 1}, {">\"$P\" 2>&1", 2}}));
  const test::TemporaryDirectory directory;
  const fs::path root = with_images(directory), pipe = root / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const Descriptor end = open_file(pipe.c_str(), O_RDWR);
  REQUIRE(::fcntl(end.number(), F_SETPIPE_SZ, 4096) > 0);  // poll() finds it full after one line
  const bool trains = std::string(redirections).find("2>") == std::string::npos;
  bool sent = false;
  double since = now();
  std::string before;
  const auto watch = [&](pid_t shoal) {
    const std::string history = test::read_text(root / "run" / "history.jsonl");
    if (history != before || (trains && history.empty())) since = now();
    before = history;
    if (!sent && now() - since > 3) sent = ::kill(shoal, SIGTERM) == 0;
    return false;
  };
  std::vector<std::string> words = command(root, "run", nproc);
  if (trains)
    words.insert(words.end(), {"--stop-timeout", "30"});  // a slow disk may delay the save
  const auto stopped = test::run_program(
      "sh",
      test::joined({"-c", std::string("exec \"$0\" \"$@\" ") + redirections, test::shoal_program()},
                   words),
      {"P=" + pipe.string()}, watch, kEndSeconds);
  INFO(redirections << " " << nproc << "\n" << stopped.err);
  CHECK(sent);
  CHECK_FALSE(stopped.killed);
  // If stderr goes to the full pipe too, the run blocks before its first step. After SIGTERM, it
  // still tries to make this step. If that takes longer than --stop-timeout, its exit code is 1.
  if (!trains) {
    CHECK((stopped.exit_code == 143 || stopped.exit_code == 1));
    return;
  }
  REQUIRE(stopped.exit_code == 143);
  require_exact_resume(root, nproc);
}

TEST_CASE("SIGTERM or SIGHUP ends `shoal bench loader` while it waits for an image") {
  const int signal = GENERATE(SIGTERM, SIGHUP);
  const test::TemporaryDirectory directory;
  const fs::path root = with_images(directory);
  HangingImage image(root / "data" / "train");
  bool hangs = false;
  const auto outcome = test::run_shoal(
      {"bench", "loader", (root / "data/train").string(), "--threads", "2", "--seconds", "300"}, {},
      [&](pid_t shoal) {
        const fs::path threads = "/proc/" + std::to_string(shoal) + "/task";
        std::error_code error;
        if (!hangs && entries_of(threads, error).size() > 2) {  // loading began
          image.hang();
          hangs = ::kill(shoal, signal) == 0;
        }
        return false;
      },
      kEndSeconds);
  INFO(outcome.err);
  CHECK(outcome.exit_code == 143);
  CHECK_THAT(outcome.err, Contains("stopped without results"));
}

TEST_CASE("if another process is killed, rank 0 saves the state") {
  const test::TemporaryDirectory directory;
  const fs::path root = with_images(directory);
  HangingImage image(root / "data" / "train");
  const auto failed = run_with_hanging_image(
      root, 2, image, [](pid_t shoal) { CHECK(test::signal_worker(shoal, 1, SIGKILL)); });
  INFO(failed.err);
  REQUIRE(failed.exit_code == 128 + SIGKILL);
  REQUIRE_THAT(failed.err, Contains("rank 1 on"));
  require_exact_resume(root, 2);
}

TEST_CASE("SIGTERM before training is not a failure, even if rank 0 waits for a file") {
  const test::TemporaryDirectory directory;
  const fs::path root = with_images(directory), weights = root / "weights.pth";
  REQUIRE(::mkfifo(weights.c_str(), 0600) == 0);
  auto words = command(root, "run", 2);
  words.insert(words.end(), {"--weights", weights.string()});
  bool sent = false;
  const auto watch = [&](pid_t shoal) {
    if (!sent && says(shoal, "no progress for")) sent = ::kill(shoal, SIGTERM) == 0;
    return false;
  };
  const auto stopped = test::run_shoal(words, {}, watch, kEndSeconds);
  INFO(stopped.err);
  CHECK(sent);
  REQUIRE(stopped.exit_code == 143);
  CHECK_FALSE(stopped.killed);
  CHECK_THAT(stopped.err, Contains("stopped before training began"));
  CHECK_THAT(stopped.err, !Contains("failed") && !Contains("shoal: error"));
}

TEST_CASE("SIGTERM also stops a process that SIGSTOP has stopped") {
  const test::TemporaryDirectory directory;
  const fs::path root = with_images(directory);
  bool sent = false;
  const auto words = command(root, "run", 2, /*resume=*/false, "1000");
  const auto watch = [&](pid_t shoal) {
    if (sent || !has_trained(root)) return false;
    sent = test::signal_worker(shoal, 1, SIGSTOP) && ::kill(shoal, SIGTERM) == 0;
    return false;
  };
  const auto stopped = test::run_shoal(words, {}, watch, kEndSeconds);
  INFO(stopped.err);
  REQUIRE(stopped.exit_code == 143);
  CHECK_THAT(stopped.err, Contains("stopped by SIGTERM after step"));
}

TEST_CASE("SIGTERM ends a process whose peer SIGSTOP has stopped; rank 0 saves") {
  const size_t ended = GENERATE(size_t{0}, size_t{1}), hung = 1 - ended;
  const test::TemporaryDirectory directory;
  const fs::path root = with_images(directory);
  const std::string port = "MASTER_PORT=" + test::free_port();
  // No launcher supervises these two processes.
  const auto process = [&](const std::string& rank) -> test::Invocation {
    const auto words = command(root, "run", /*nproc=*/0, /*resume=*/false, "1000");
    return {test::joined({test::shoal_program()}, words),
            {"MASTER_ADDR=localhost", port, "WORLD_SIZE=2", "RANK=" + rank}};
  };
  bool sent = false;
  const auto watch = [&](const std::vector<pid_t>& processes) {
    if (!sent && has_trained(root))
      sent = ::kill(processes[hung], SIGSTOP) == 0 && ::kill(processes[ended], SIGTERM) == 0;
    // Once process `ended` has exited, kill the stopped one, so that the test ends.
    if (sent && ::kill(processes[ended], 0) != 0) ::kill(processes[hung], SIGKILL);
    return false;
  };
  const auto outcomes = test::run_together({process("0"), process("1")}, watch, kEndSeconds);
  CHECK(sent);
  const test::Outcome& stopped = outcomes[ended];
  INFO(stopped.err);
  REQUIRE(stopped.exit_code == 143);
  CHECK_THAT(stopped.err, Contains("stopped by SIGTERM"));
  if (ended == 0) CHECK_THAT(stopped.err, Contains("is saved"));
}
