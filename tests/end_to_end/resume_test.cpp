// Tests that a killed and resumed run ends with the same bits as an uninterrupted run.

#include <signal.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "tests/support/event_file.h"
#include "tests/support/history.h"
#include "tests/support/program.h"
#include "train/checkpoint/checkpoint_store.h"

using namespace shoal;
namespace fs = std::filesystem;

namespace {

constexpr int kLastStep = 24;  // 3 epochs of 8 steps

std::vector<std::string> command(const fs::path& root, const std::string& name, int nproc,
                                 bool resume) {
  // clang-format off
  std::vector<std::string> words = {
      "train", "--data", (root / "data").string(), "--output", (root / name).string(),
      "--nproc", std::to_string(nproc), "--threads", "1", "--workers", "2",
      "--model", "mobilenet_v2", "--size", "32", "--global-batch-size", "12", "--epochs", "3",
      "--lr", "0.02", "--mixup", "0.2", "--ema", "0.9",
      "--checkpoint-steps", "2", "--keep", "2", "--print-freq", "3", "--layer-decay", "0.9",
      "--histograms", "1e", "--drop-path", "0.2"};
  // clang-format on
  if (resume) words.push_back("--resume");
  return words;
}

test::Outcome run_with(const fs::path& root, const std::vector<std::string>& more, bool resume) {
  return test::run_shoal(test::joined(command(root, "run", 1, resume), more));
}

std::string history_without_times(const fs::path& run) {
  std::string text;
  for (nlohmann::json row : test::rows(run / "history.jsonl")) {
    row.erase("timing");
    row.erase("time");
    text += row.dump() + "\n";
  }
  return text;
}

// Returns the points in the TensorBoard event file that must be equal in equal runs, sorted.
std::vector<std::string> points_of(const fs::path& run) {
  std::vector<std::string> points;
  for (const auto& value : test::read_event_file(run / "tensorboard")) {
    // Leave out speeds, and texts that contain times or paths.
    if (value.tag.find("timing/") != value.tag.npos || value.tag.starts_with("utilization/") ||
        value.kind == "tensor")
      continue;
    points.push_back(value.tag + " " + std::to_string(value.step) + " " + value.kind + " " +
                     std::to_string(value.number) + value.bytes);
  }
  std::sort(points.begin(), points.end());
  return points;
}

train::CheckpointEntry last_checkpoint(const fs::path& run) {
  const auto entries = train::CheckpointStore(run / "checkpoints", 1).entries();
  REQUIRE_FALSE(entries.empty());
  return entries.front();
}

// Returns the name of the newest checkpoint that has a file with this extension, or "".
std::string newest(const fs::path& run, const char* extension) {
  std::string name;
  std::error_code error;
  for (const auto& file : fs::directory_iterator(run / "checkpoints", error)) {
    const std::string stem = file.path().stem().string();
    if (file.path().extension() == extension && stem.starts_with("epoch-"))
      name = std::max(name, stem);
  }
  return name;
}

bool writes_checkpoint(const fs::path& run) {
  std::error_code error;
  for (const auto& file : fs::directory_iterator(run / ".checkpoints-tmp", error)) {
    const auto bytes = fs::file_size(file.path(), error);
    if (file.path().string().ends_with(".pt.part") && !error && bytes > 0) return true;
  }
  return false;
}

// Kills a run at least `kills` times and resumes it until it completes. At least `in_write` kills
// interrupt the write of a checkpoint; the first kill interrupts the first write. Later kills wait
// for a new checkpoint, so that the next start resumes from it.
void kill_and_resume(const fs::path& root, int nproc, int kills, int in_write,
                     std::mt19937& random) {
  const fs::path run = root / ("killed-" + std::to_string(nproc));
  int done = 0, hits = 0, resumed = 0;
  for (int code = -1; code != 0;) {
    const std::string saved = newest(run, ".pt");
    const bool aim_at_write = hits < in_write;
    const int more_rows = static_cast<int>(random() % 3);
    std::optional<int> rows;  // lines in the history after this attempt's first checkpoint
    const auto now_is_the_time = [&](pid_t) {
      if (done >= kills && hits >= in_write) return false;
      if (done > 0 && newest(run, ".json") <= saved) return false;
      if (aim_at_write) return writes_checkpoint(run);
      const int written = test::count_of(test::read_text(run / "history.jsonl"), "\n");
      if (!rows) rows = written;
      return written >= *rows + more_rows;
    };
    const auto outcome =
        test::run_shoal(command(root, run.filename(), nproc, done > 0), {}, now_is_the_time);
    INFO(outcome.err);
    REQUIRE_THAT(outcome.err,
                 Catch::Contains(saved.empty() ? "fresh start" : saved + ".pt, epoch"));
    resumed += !saved.empty();
    code = outcome.exit_code;
    REQUIRE((code == 0 || code == 128 + SIGKILL));
    done += code != 0;
    hits += writes_checkpoint(run);  // counts a kill that left an unfinished file
  }
  REQUIRE(done >= kills);
  REQUIRE(hits >= in_write);
  REQUIRE(2 * resumed >= done);
}

void compare(int nproc, int kills, int in_write) {
  const test::TemporaryDirectory directory;
  const fs::path& root = directory.path();
  test::make_images(root / "data", 100, 10, 4, 40);
  const auto whole = test::run_shoal(command(root, "whole", nproc, false));
  INFO(whole.err);
  REQUIRE(whole.exit_code == 0);
  std::mt19937 random(static_cast<unsigned>(nproc));
  kill_and_resume(root, nproc, kills, in_write, random);

  const auto expected = last_checkpoint(root / "whole");
  const fs::path killed = root / ("killed-" + std::to_string(nproc));
  const auto got = last_checkpoint(killed);
  REQUIRE(expected.step == kLastStep);
  REQUIRE(got.step == kLastStep);
  // The checksum covers the file: every tensor, the position and the settings.
  REQUIRE(got.checksum == expected.checksum);
  REQUIRE(history_without_times(killed) == history_without_times(root / "whole"));
  // Points that a killed process wrote after its last checkpoint must not appear twice.
  const auto points = points_of(root / "whole");
  for (const char* point :
       {"train/loss 24 scalar", "learning_rate/classifier.1 24 scalar", "valid_ema/acc1 8 scalar",
        "train/images 0 image", "weights/features.0.0.weight 16 histogram",
        "gradients/classifier.1.bias 24 histogram"}) {
    INFO(point);
    CHECK(std::ranges::count_if(points,
                                [&](const auto& text) { return text.starts_with(point); }) == 1);
  }
  CHECK(points_of(killed) == points);
}

// Runs shoal and sends it one SIGTERM as soon as `now` returns true. The launcher forwards the
// signal.
test::Outcome run_and_stop(const std::vector<std::string>& words,
                           const std::function<bool()>& now) {
  bool sent = false;
  return test::run_shoal(words, {}, [&](pid_t pid) {
    if (!sent && now()) sent = ::kill(pid, SIGTERM) == 0;
    return false;
  });
}

bool evaluating(const fs::path& run) {
  return test::read_text(run / "history.jsonl").find("\"test\"") != std::string::npos;
}

void require_same(const fs::path& run, const fs::path& expected) {
  REQUIRE(last_checkpoint(run).checksum == last_checkpoint(expected).checksum);
  REQUIRE(history_without_times(run) == history_without_times(expected));
}

}  // namespace

TEST_CASE("one process killed at random moments and resumed ends bit-equal") {
  compare(1, 4, 2);
}
TEST_CASE("two processes killed at random moments and resumed end bit-equal") {
  compare(2, 4, 2);
}
TEST_CASE("three processes killed at random moments and resumed end bit-equal") {
  compare(3, 4, 1);
}

TEST_CASE("--gradient-compression bf16 changes the result reproducibly, also after --resume") {
  const test::TemporaryDirectory directory;
  const fs::path& root = directory.path();
  test::make_images(root / "data", 100, 10, 4, 40);
  const auto run = [&](const std::string& name, bool resume, std::vector<std::string> more) {
    const auto done = test::run_shoal(test::joined(command(root, name, 2, resume), more));
    INFO(done.err);
    REQUIRE(done.exit_code == 0);
    return last_checkpoint(root / name);
  };
  run("first", false, {"--max-steps", "1"});
  // Epoch 1 trains more layers, so the gradients are divided into other ranges than in epoch 0.
  const std::vector<std::string> freeze = {"--weights", root / "first",     "--freeze",
                                           "3",         "--unfreeze-epoch", "1"};
  const auto compressed = test::joined(freeze, {"--gradient-compression", "bf16"});
  REQUIRE(run("whole", false, compressed).step == kLastStep);
  run("plain", false, freeze);
  const auto losses = [&](const std::string& name) {
    std::map<int64_t, double> values;  // step → loss
    for (const auto& row : test::history(root / name, "train")) values[row["step"]] = row["loss"];
    return values;
  };
  const auto expected = losses("whole");
  CHECK(expected.at(1) == losses("plain").at(1));  // computed with the initial weights
  CHECK(expected.at(kLastStep) != losses("plain").at(kLastStep));

  run("resumed", false, test::joined(compressed, {"--max-steps", "5"}));
  run("resumed", true, {});
  auto resumed = losses("resumed");
  resumed.erase(5);  // printed because the run stopped there
  CHECK(resumed == expected);
}

TEST_CASE("a run can resume with another world size and uses the same images in the same order") {
  const test::TemporaryDirectory directory;
  const fs::path& root = directory.path();
  test::make_images(root / "data", 100, 10, 4, 40);
  const auto start = test::joined(command(root, "run", 2, false), {"--max-steps", "5"});
  REQUIRE(test::run_shoal(start).exit_code == 0);
  const auto other = test::run_shoal(command(root, "run", 3, true));
  INFO(other.err);
  REQUIRE(other.exit_code == 0);
  REQUIRE(other.err.find("same images") != std::string::npos);
  REQUIRE(last_checkpoint(root / "run").step == kLastStep);

  auto wrong = command(root, "run", 2, true);
  *(std::find(wrong.begin(), wrong.end(), "--global-batch-size") + 1) = "24";
  const auto refused = test::run_shoal(wrong);
  REQUIRE(refused.exit_code == 2);
  REQUIRE(refused.err.find("--global-batch-size 12") != std::string::npos);
}

TEST_CASE("SIGTERM saves after the current step and the resumed run ends bit-equal") {
  const test::TemporaryDirectory directory;
  const fs::path& root = directory.path();
  test::make_images(root / "data", 100, 10, 4, 40);
  REQUIRE(test::run_shoal(command(root, "whole", 2, false)).exit_code == 0);
  const fs::path marker = root / "run" / "checkpoints" / "epoch-0000-step-00000004.json";
  const auto stopped =
      run_and_stop(command(root, "run", 2, false), [&] { return fs::exists(marker); });
  INFO(stopped.err);
  REQUIRE(stopped.exit_code == 143);
  const auto saved = last_checkpoint(root / "run");
  REQUIRE(saved.step >= 4);
  REQUIRE(saved.step < kLastStep);
  // This command leaves out the settings that change results: they come from the checkpoint.
  // clang-format off
  const auto resumed = test::run_shoal({
      "train", "--data", (root / "data").string(), "--output", (root / "run").string(), "--resume",
      "--nproc", "2", "--threads", "1", "--workers", "1", "--keep", "2", "--print-freq", "3"});
  // clang-format on
  INFO(resumed.err);
  REQUIRE(resumed.exit_code == 0);
  require_same(root / "run", root / "whole");
}

TEST_CASE(
    "SIGTERM in an evaluation saves the state before it, and the resumed run evaluates again") {
  const test::TemporaryDirectory directory;
  const fs::path& root = directory.path();
  test::make_images(root / "data", 100, 200, 4, 40);
  REQUIRE(test::run_shoal(command(root, "whole", 2, false)).exit_code == 0);
  const auto stopped =
      run_and_stop(command(root, "run", 2, false), [&] { return evaluating(root / "run"); });
  INFO(stopped.err);
  REQUIRE(stopped.exit_code == 143);
  const auto saved = last_checkpoint(root / "run");
  REQUIRE(saved.epoch == 0);  // epoch 0 counts as complete only after its evaluation
  REQUIRE(saved.step == 8);
  REQUIRE(stopped.out.find(" * Acc@1") == std::string::npos);
  const auto resumed = test::run_shoal(command(root, "run", 2, true));
  REQUIRE(resumed.exit_code == 0);
  require_same(root / "run", root / "whole");
}

TEST_CASE(
    "a run that ends within an epoch by --max-steps is evaluated, even after a stop and --resume") {
  const test::TemporaryDirectory directory;
  const fs::path& root = directory.path();
  test::make_images(root / "data", 100, 200, 4, 40);
  auto words = test::joined(command(root, "run", 1, false), {"--max-steps", "5"});
  const auto stopped = run_and_stop(words, [&] { return evaluating(root / "run"); });
  REQUIRE(stopped.exit_code == 143);
  REQUIRE(stopped.out.find(" * Acc@1") == std::string::npos);
  words.push_back("--resume");
  const auto resumed = test::run_shoal(words);
  REQUIRE(resumed.exit_code == 0);
  REQUIRE(resumed.out.find(" * Acc@1") != std::string::npos);

  const auto undisturbed = test::joined(command(root, "whole", 1, false), {"--max-steps", "5"});
  REQUIRE(test::run_shoal(undisturbed).exit_code == 0);
  require_same(root / "run", root / "whole");
  REQUIRE(last_checkpoint(root / "run").top1 == last_checkpoint(root / "whole").top1);
  const auto again = test::run_shoal(words);
  REQUIRE(again.exit_code == 0);
  REQUIRE(again.out.find(" * Acc@1") == std::string::npos);  // nothing was left to do
}

TEST_CASE("options that order the images cannot change within an epoch, unless without effect") {
  const test::TemporaryDirectory directory;
  const fs::path& root = directory.path();
  test::make_images(root / "data", 100, 8, 4, 40);
  REQUIRE(run_with(root, {"--order", "chunked", "--max-steps", "3"}, false).exit_code == 0);
  for (const char* option : {"--order=random", "--repeated-augmentation=2"}) {
    const auto refused = run_with(root, {option}, true);
    CHECK(refused.exit_code == 2);
    CHECK_THAT(refused.err, Catch::Contains("within an epoch") && Catch::Contains("this run has"));
  }
  REQUIRE(run_with(root, {"--shuffle-buffer", "9", "--max-steps", "8"}, true).exit_code == 0);
  const auto other = run_with(root, {"--order", "random", "--max-steps", "10"}, true);
  INFO(other.err);
  REQUIRE(other.exit_code == 0);
  CHECK_THAT(other.err, Catch::Contains("order chunked → random"));
}

TEST_CASE("--eval-only evaluates the last checkpoint without changing the run") {
  const test::TemporaryDirectory directory;
  const fs::path& root = directory.path();
  test::make_images(root / "data", 100, 30, 4, 40);
  const auto whole = test::run_shoal(command(root, "run", 2, false));
  REQUIRE(whole.exit_code == 0);
  const auto summary = test::read_text(root / "run" / "summary.json");
  const auto checkpoint = last_checkpoint(root / "run").checksum;
  const auto evaluated = run_with(root, {"--eval-only"}, true);
  INFO(evaluated.err);
  REQUIRE(evaluated.exit_code == 0);
  const auto last_line = [](const std::string& out) {
    const auto at = out.rfind(" * Acc@1");
    return out.substr(at, out.find('\n', at) - at);
  };
  REQUIRE(last_line(evaluated.out) == last_line(whole.out));
  REQUIRE(test::read_text(root / "run" / "summary.json") == summary);
  REQUIRE(last_checkpoint(root / "run").checksum == checkpoint);
  const auto history = test::read_text(root / "run" / "history.jsonl");
  REQUIRE(test::lines_of(history).size() > 6);
  REQUIRE(test::rows(root / "run/history.jsonl").back().at("epoch") == 2);  // the last epoch

  const auto idle = test::run_shoal(command(root, "run", 2, true));  // the run is already complete
  REQUIRE(idle.exit_code == 0);
  REQUIRE(test::read_text(root / "run" / "summary.json") == summary);
}

TEST_CASE("--eval-only evaluates what a run evaluated, and leaves other runs alone") {
  const test::TemporaryDirectory directory;
  const fs::path& root = directory.path();
  test::make_images(root / "data", 100, 30, 4, 40);
  const auto evaluated = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"train", "--data", (root / "data").string(), "--eval-only"});
    return test::run_shoal(words);
  };
  const auto trained = test::run_shoal(command(root, "run", 1, false));
  REQUIRE(trained.exit_code == 0);
  const auto figures = [](const std::string& out) {
    return out.substr(out.rfind(" * EMA Acc@1"), 30);
  };
  const std::string run = (root / "run").string();
  const auto resumed = evaluated({"--resume", run, "--output", (root / "results").string()});
  INFO(resumed.err);
  REQUIRE(resumed.exit_code == 0);
  CHECK_THAT(resumed.out, Catch::Contains(" * Acc@1"));
  CHECK(figures(resumed.out) == figures(trained.out));
  const auto weights = evaluated({"--weights", run, "--output", (root / "results2").string()});
  INFO(weights.err);
  REQUIRE(weights.exit_code == 0);  // --weights gives the model and the image size
  CHECK_THAT(weights.err, Catch::Contains("val_size=32"));

  REQUIRE(test::run_shoal(command(root, "other", 1, false)).exit_code == 0);
  const std::string history = test::read_text(root / "other/history.jsonl");
  const auto refused = evaluated({"--resume", run, "--output", (root / "other").string()});
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.err, Catch::Contains("another run") && Catch::Contains("--output"));
  CHECK(test::read_text(root / "other/history.jsonl") == history);
}

TEST_CASE("--resume refuses a change to --mixup-mode half, and accepts another --accumulate") {
  const test::TemporaryDirectory directory;
  const fs::path& root = directory.path();
  test::make_images(root / "data", 100, 8, 4, 40);
  REQUIRE(run_with(root, {"--max-steps", "3"}, false).exit_code == 0);
  const auto refused = run_with(root, {"--mixup", "0.2", "--mixup-mode", "half"}, true);
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.err, Catch::Contains("images_per_step") && Catch::Contains("--mixup-mode"));
  const auto accumulated = run_with(root, {"--accumulate", "2", "--max-steps", "5"}, true);
  INFO(accumulated.err);
  REQUIRE(accumulated.exit_code == 0);
  CHECK_THAT(accumulated.err, Catch::Contains("accumulate 1 → 2"));
}
