// Tests messages about user errors and failures of the environment.

#include <signal.h>

#include <catch2/catch.hpp>
#include <fstream>

#include "tests/support/program.h"
#include "train/checkpoint/checkpoint_store.h"

using namespace shoal;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

std::vector<std::string> small_run(const fs::path& root,
                                   const std::vector<std::string>& more = {}) {
  // clang-format off
  std::vector<std::string> words = {
      "train", "--data", (root / "data").string(), "--output", (root / "run").string(),
      "--model", "mobilenet_v3_small", "--size", "32", "--batch-size", "10", "--epochs", "1",
      "--lr", "0.01"};
  // clang-format on
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

void damage(const fs::path& file) {
  std::ofstream(file, std::ios::trunc) << "no image";
}

}  // namespace

TEST_CASE("a user's mistake prints one line that names it, with any number of processes") {
  const test::TemporaryDirectory directory;
  const fs::path& root = directory.path();
  test::make_images(root / "data", 40, 8, 2, 40);
  struct Case {
    std::vector<std::string> words;
    std::string part;
  };
  damage(root / "text.pt");
  fs::create_directories(root / "odd" / "train" / "a");
  fs::create_directories(root / "odd" / "val" / "a");
  const std::vector<Case> cases = {
      {small_run(root, {"--learning-rat", "1"}), "learning-rat"},
      {small_run(root, {"--lr", "fast"}), "--lr"},
      {small_run(root, {"--model", "efficientnet-bo"}), "efficientnet_b0"},
      {small_run(root, {"--data", (root / "nowhere").string()}), "nowhere"},
      {small_run(root, {"--data", (root / "odd").string()}), "odd"},
      {small_run(root, {"--data", (root / "data/train").string()}), "use its parent folder"},
      {{"train", "--train", (root / "data/train").string()}, "add --val"},
      {small_run(root, {"--nproc", "2", "--global-batch-size", "7"}), "--global-batch-size 7"},
      {small_run(root, {"--nproc", "2", "--mixup", "0.2", "--batch-size", "5"}), "even"},
      {small_run(root, {"--nproc", "2", "--batch-size", "100"}), "--batch-size"},
      {small_run(root, {"--resume", (root / "missing.pt").string()}), "missing.pt"},
      {{"eval", "--checkpoint", (root / "missing.pt").string(), "--data", (root / "data").string()},
       "missing.pt"},
      {small_run(root, {"--eval-only"}), "--resume"},
      {small_run(root, {"--eval-only", "--resume"}), "there are none in"},
      {small_run(root, {"--nproc", "1000"}), "--nproc"},
      {{"predict", "--checkpoint", (root / "data/val").string(), (root / "data").string()},
       "no checkpoint"},
      {{"predict", "--checkpoint", (root / "text.pt").string(), (root / "data").string()},
       "not a checkpoint"},
      {{"trian"}, "train"},
  };
  for (const auto& one : cases) {
    const auto outcome = test::run_shoal(one.words);
    INFO(outcome.err);
    REQUIRE(outcome.exit_code == 2);
    REQUIRE(outcome.err.find(one.part) != std::string::npos);
    REQUIRE(test::count_of(outcome.err, "shoal: error:") == 1);
  }
}

TEST_CASE("a new run does not overwrite a directory with checkpoints") {
  const test::TemporaryDirectory directory;
  test::make_images(directory.path() / "data", 40, 8, 2, 40);
  const auto first = test::run_shoal(small_run(directory.path(), {"--resume"}));
  REQUIRE(first.exit_code == 0);
  REQUIRE_THAT(first.err, Catch::Contains("warning no checkpoint found") &&
                              Catch::Contains("this is a new run"));
  for (const std::string nproc : {"1", "2"}) {
    const std::string batch_size = nproc == "1" ? "10" : "5";
    const auto again = test::run_shoal(
        small_run(directory.path(), {"--nproc", nproc, "--batch-size", batch_size}));
    INFO(again.err);
    REQUIRE(again.exit_code == 2);
    REQUIRE(again.err.find("--resume") != std::string::npos);
    REQUIRE(test::count_of(again.err, "shoal: error:") == 1);
  }
}

TEST_CASE(
    "unreadable images are replaced in training and left out of evaluation, or stop the run") {
  const test::TemporaryDirectory directory;
  const fs::path& root = directory.path();
  test::make_images(root / "data", 240, 120, 2, 40);
  const auto first_of = [](const fs::path& folder) {
    return fs::directory_iterator(folder)->path();
  };
  const fs::path train = first_of(first_of(root / "data" / "train"));
  const fs::path val = first_of(first_of(root / "data" / "val"));
  damage(train);
  damage(val);
  const auto run = test::run_shoal(small_run(root, {"--nproc", "2"}));
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  REQUIRE(test::count_of(run.err, train.filename().string()) == 1);
  REQUIRE(test::count_of(run.err, val.filename().string()) == 1);
  REQUIRE(run.out.find("valid:images=119;") != std::string::npos);
  REQUIRE(run.err.find("1 of 120 validation images") != std::string::npos);

  const auto strict = test::run_shoal(
      small_run(root, {"--bad-images", "error", "--output", (root / "strict").string()}));
  REQUIRE(strict.exit_code != 0);
  REQUIRE(strict.err.find(train.filename().string()) != std::string::npos);

  int broken = 0;
  for (const auto& file : fs::directory_iterator(first_of(root / "data" / "train"))) {
    if (broken++ < 6) damage(file.path());
  }
  const auto many = test::run_shoal(small_run(root, {"--output", (root / "many").string()}));
  INFO(many.err);
  REQUIRE(many.exit_code == 1);
  REQUIRE(many.err.find("more than 1 %") != std::string::npos);
  REQUIRE_FALSE(fs::is_empty(root / "many" / "checkpoints"));
}

TEST_CASE("unreadable validation images stop the run after a checkpoint, which can be resumed") {
  const test::TemporaryDirectory directory;
  const fs::path& root = directory.path();
  test::make_images(root / "data", 40, 20, 2, 40);
  const fs::path folder = fs::directory_iterator(root / "data" / "val")->path();
  const fs::path image = fs::directory_iterator(folder)->path();
  fs::rename(image, root / "whole");
  fs::copy_file(root / "whole", image);
  damage(image);
  const auto failed = test::run_shoal(small_run(root));
  INFO(failed.err);
  REQUIRE(failed.exit_code == 1);
  REQUIRE(failed.err.find("1 of 20 validation images") != std::string::npos);
  REQUIRE(failed.err.find("--resume") != std::string::npos);

  fs::rename(root / "whole", image);
  const auto resumed = test::run_shoal(small_run(root, {"--resume"}));
  INFO(resumed.err << resumed.out);
  REQUIRE(resumed.exit_code == 0);
  REQUIRE(resumed.out.find("train:loss") == std::string::npos);  // only the evaluation was missing
  REQUIRE(resumed.out.find("valid:images=20;") != std::string::npos);
  // The history has the rows of the second evaluation only.
  REQUIRE(test::count_of(test::read_text(root / "run/history.jsonl"), R"("event":"test")") == 1);
}

TEST_CASE("--resume skips a damaged checkpoint and uses the one before") {
  const test::TemporaryDirectory directory;
  const fs::path& root = directory.path();
  test::make_images(root / "data", 40, 8, 2, 40);
  const auto first = test::run_shoal(small_run(root, {"--checkpoint-steps", "2", "--epochs", "2"}));
  REQUIRE(first.exit_code == 0);
  const train::CheckpointStore store(root / "run" / "checkpoints", 3);
  const auto newest = store.entries().front();
  fs::resize_file(store.path(newest), static_cast<uintmax_t>(newest.bytes / 2));
  const auto resumed = test::run_shoal(small_run(root, {"--resume", "--epochs", "2"}));
  INFO(resumed.err);
  REQUIRE(resumed.exit_code == 0);
  REQUIRE(resumed.err.find("damaged") != std::string::npos);
  REQUIRE(store.entries().front().name == newest.name);  // the newest checkpoint was written again
  REQUIRE_NOTHROW(store.read(store.entries().front()));
  for (const auto& entry : store.entries()) fs::resize_file(store.path(entry), 10);
  const auto lost = test::run_shoal(small_run(root, {"--resume", "--epochs", "2"}));
  REQUIRE(lost.exit_code == 1);
  REQUIRE(lost.err.find("none of the") != std::string::npos);
}

TEST_CASE(
    "a step with non-finite gradients is not committed, and ten in a row stop the run after a "
    "checkpoint") {
  const test::TemporaryDirectory directory;
  const fs::path& root = directory.path();
  test::make_images(root / "data", 240, 8, 2, 40);
  const auto run = test::run_shoal(
      small_run(root, {"--lr", "1e30", "--nproc", "2", "--batch-size", "5", "--epochs", "1"}));
  INFO(run.err);
  REQUIRE(run.exit_code == 1);
  REQUIRE(run.err.find("in a row") != std::string::npos);
  REQUIRE(run.err.find("learning rate") != std::string::npos);
  REQUIRE(run.err.find("gradient norm") != std::string::npos);
  REQUIRE(run.out.find("event=nonfinite") != std::string::npos);
  REQUIRE(run.out.find("nan") == std::string::npos);
  const train::CheckpointStore store(root / "run" / "checkpoints", 3);
  REQUIRE(store.entries().size() == 1);
  REQUIRE_NOTHROW(store.read(store.entries().front()));
}

TEST_CASE("a run that diverges keeps the newest checkpoint from before and names it") {
  const test::TemporaryDirectory directory;
  const fs::path& root = directory.path();
  test::make_images(root / "data", 80, 8, 2, 40);
  const auto good = test::run_shoal(small_run(root, {"--max-steps", "2", "--lr", "0.01"}));
  INFO(good.err);
  REQUIRE(good.exit_code == 0);
  // The learning rate makes the weights diverge in step 3.
  const std::vector<std::string> diverging = {
      "--resume", "--max-steps",        "20", "--epochs", "20", "--lr",
      "1e30",     "--checkpoint-steps", "1",  "--keep",   "1",  "--non-finite-limit",
      "3"};
  for (int attempt = 0; attempt < 2; ++attempt) {
    const auto run = test::run_shoal(small_run(root, diverging));
    INFO(run.err);
    REQUIRE(run.exit_code == 1);
    const size_t advice = run.err.find("continue from before these steps with --resume");
    REQUIRE(advice != std::string::npos);
    CHECK(run.err.find("step-00000002.pt", advice) != std::string::npos);
  }
  fs::path sound;
  for (const auto& entry : fs::directory_iterator(root / "run/checkpoints"))
    if (entry.path().filename().string().find("00000002.pt") != std::string::npos)
      sound = entry.path();
  const auto mended = test::run_shoal(
      small_run(root, {"--resume", sound.string(), "--lr", "0.01", "--max-steps", "4"}));
  INFO(mended.err);
  REQUIRE(mended.exit_code == 0);
}

TEST_CASE("incomplete or contradictory settings for several processes are an error") {
  const test::TemporaryDirectory directory;
  test::make_images(directory.path() / "data", 40, 8, 2, 40);
  const auto half = test::run_shoal(small_run(directory.path()), {"RANK=0"});
  REQUIRE(half.exit_code == 2);
  REQUIRE(half.err.find("WORLD_SIZE") != std::string::npos);
  const auto both = test::run_shoal(small_run(directory.path(), {"--nproc", "2"}),
                                    {"RANK=0", "WORLD_SIZE=1", "LOCAL_RANK=0", "LOCAL_WORLD_SIZE=1",
                                     "MASTER_ADDR=127.0.0.1", "MASTER_PORT=29999"});
  REQUIRE(both.exit_code == 2);
  REQUIRE(both.err.find("--nproc") != std::string::npos);
}

TEST_CASE("a rank that hangs is named, and the run ends with the name of the wait that timed out") {
  const test::TemporaryDirectory directory;
  const fs::path& root = directory.path();
  test::make_images(root / "data", 400, 8, 2, 40);
  bool stopped = false;
  const auto outcome =
      test::run_shoal(small_run(root, {"--nproc", "2", "--epochs", "50", "--stall-warning", "2",
                                       "--collective-timeout", "5", "--print-freq", "1"}),
                      {}, [&](pid_t shoal) {
                        if (stopped || test::read_text(root / "run" / "history.jsonl").empty())
                          return false;
                        stopped = test::signal_worker(shoal, 1, SIGSTOP);
                        return false;
                      });
  INFO(outcome.err);
  REQUIRE(stopped);
  CHECK(outcome.exit_code != 0);
  CHECK_THAT(outcome.err, Contains("no progress") && Contains("rank 1"));
  CHECK_THAT(outcome.err, Contains("rank 0 of 2: ") && Contains("failed after"));
}
