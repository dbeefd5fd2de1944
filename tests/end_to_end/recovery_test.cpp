// Tests runs on data with some wrong labels: they report the loss spike and can roll back.

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "data/dataset.h"
#include "data/order.h"
#include "tests/support/history.h"
#include "tests/support/program.h"
#include "train/checkpoint/checkpoint_store.h"

using namespace shoal;
using test::history;
namespace fs = std::filesystem;

namespace {

constexpr int64_t kBatch = 16;                    // global batch size
constexpr int64_t kFirstBad = 28, kLastBad = 30;  // steps with wrong labels
constexpr int64_t kCheckpointSteps = 13;
constexpr int64_t kGood = 26;  // step of the last checkpoint before the wrong labels

// Makes the labels of steps kFirstBad to kLastBad of the first epoch wrong: overwrites the images
// of these steps with images of another class.
void mislabel(const fs::path& train) {
  const auto dataset = data::open_dataset(train.string());
  const data::EpochOrder order(dataset->size(), /*seed=*/0, /*epoch=*/0);
  std::map<int32_t, std::string> donor;  // label → an image of later steps
  for (int64_t i = kLastBad * kBatch; i < dataset->size(); ++i)
    donor[dataset->label(order(i))] = dataset->name(order(i));
  const auto classes = static_cast<int32_t>(dataset->classes().size());
  for (int64_t i = (kFirstBad - 1) * kBatch; i < kLastBad * kBatch; ++i) {
    const int32_t other = (dataset->label(order(i)) + 1) % classes;
    fs::copy_file(donor.at(other), dataset->name(order(i)), fs::copy_options::overwrite_existing);
  }
}

std::vector<std::string> run_words(const fs::path& root, const std::string& data,
                                   const std::string& output,
                                   const std::vector<std::string>& more) {
  // clang-format off
  std::vector<std::string> words = {
      "train", "--nproc", "2", "--data", (root / data).string(), "--output", (root / output).string(),
      "--model", "resnet18", "--size", "32", "--batch-size", "8", "--epochs", "1", "--lr", "0.005",
      "--label-smoothing", "0.2", "--crop-scale-min", "0.8",
      "--max-steps", "50", "--checkpoint-steps", std::to_string(kCheckpointSteps), "--keep", "2",
      "--print-freq", "1"};
  // clang-format on
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// Returns the mean loss of the steps after `step`.
double loss_after(const fs::path& run, int64_t step) {
  double sum = 0;
  int count = 0;
  for (const auto& entry : history(run, "train")) {
    if (entry["step"].get<int64_t>() > step) sum += entry["loss"].get<double>(), ++count;
  }
  REQUIRE(count > 5);
  return sum / count;
}

std::string last_checksum(const fs::path& run) {
  return train::CheckpointStore(run / "checkpoints", 1).entries().front().checksum;
}

// Returns the step of the first loss spike in the history of `run`. It must be a step with wrong
// labels.
int64_t require_spike(const fs::path& run) {
  const auto spikes = history(run, "loss_spike");
  REQUIRE_FALSE(spikes.empty());
  const auto step = spikes[0]["step"].get<int64_t>();
  REQUIRE(step >= kFirstBad);
  REQUIRE(step <= kLastBad);
  return step;
}

}  // namespace

TEST_CASE("wrong labels are reported as a loss spike, and a rollback undoes most of their effect") {
  const test::TemporaryDirectory directory;
  const fs::path& root = directory.path();
  for (const std::string data : {"good", "bad"}) test::make_images(root / data, 720, 40, 4, 40);
  mislabel(root / "bad" / "train");
  const auto train = [&](const std::string& data, const std::string& output,
                         const std::vector<std::string>& more) {
    const auto outcome = test::run_shoal(run_words(root, data, output, more));
    INFO(outcome.err << outcome.out);
    REQUIRE(outcome.exit_code == 0);
    return outcome;
  };

  const std::vector<std::string> unsaved = {"--checkpoint-steps", "1000"};
  train("good", "calm", unsaved);
  REQUIRE(history(root / "calm", "loss_spike").empty());
  train("bad", "logged", unsaved);
  require_spike(root / "logged");
  REQUIRE(history(root / "logged", "rollback").empty());

  const auto outcome = train("bad", "back", {"--on-spike", "rollback"});
  REQUIRE(outcome.out.find("event=loss_spike; loss=") != std::string::npos);
  require_spike(root / "back");
  const auto rollbacks = history(root / "back", "rollback");
  REQUIRE(rollbacks.size() >= 1);
  for (const auto& rollback : rollbacks) REQUIRE(rollback["to_step"] == kGood);
  const auto skipped = rollbacks.back()["last_skipped"].get<int64_t>();
  REQUIRE(skipped >= kLastBad);
  REQUIRE(skipped < kLastBad + kCheckpointSteps);
  REQUIRE(outcome.err.find(std::to_string(skipped) + " are skipped") != std::string::npos);

  // The rollback removes most of the harm, measured as the difference to the loss of the run on
  // good data.
  const double calm = loss_after(root / "calm", skipped);
  const double harm = std::abs(loss_after(root / "logged", skipped) - calm);
  const double left = std::abs(loss_after(root / "back", skipped) - calm);
  INFO("loss on good data " << calm << ", harm " << harm << ", after rollback " << left);
  REQUIRE(left < harm / 2);

  // A run that is killed after the good checkpoint and resumed ends with the same bits.
  const auto killed =
      test::run_shoal(run_words(root, "bad", "killed", {"--on-spike", "rollback"}), {}, [&](pid_t) {
        return fs::exists(root / "killed" / "checkpoints" / "epoch-0000-step-00000026.json");
      });
  REQUIRE(killed.exit_code == 137);
  train("bad", "killed", {"--on-spike", "rollback", "--resume"});
  REQUIRE(last_checksum(root / "killed") == last_checksum(root / "back"));
}

TEST_CASE(
    "a spike can save a checkpoint; without an earlier one to roll back to, the run goes on") {
  const test::TemporaryDirectory directory;
  const fs::path& root = directory.path();
  test::make_images(root / "bad", 720, 40, 4, 40);
  mislabel(root / "bad" / "train");
  for (const std::string reaction : {"checkpoint", "rollback"}) {
    const auto outcome = test::run_shoal(
        run_words(root, "bad", reaction,
                  {"--on-spike", reaction, "--max-steps", "33", "--checkpoint-steps", "1000"}));
    INFO(outcome.err << outcome.out);
    REQUIRE(outcome.exit_code == 0);
    const int64_t spike = require_spike(root / reaction);
    if (reaction == "checkpoint") {
      const auto saved = train::CheckpointStore(root / reaction / "checkpoints", 1).entries();
      REQUIRE(saved.size() == 2);  // the newer one was saved at the end
      REQUIRE(saved.back().step >= spike);
      REQUIRE(saved.back().step <= spike + 2);
    } else {
      REQUIRE(outcome.err.find("no checkpoint from before") != std::string::npos);
    }
  }
}
