// A stretch of the data with wrong labels: what a run says of it, and what it does.

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "data/dataset.h"
#include "data/loader/order.h"
#include "program.h"
#include "train/checkpoint/checkpoint_store.h"

using namespace shoal;
namespace fs = std::filesystem;

namespace {

constexpr int64_t kBatch = 16;                    // over both processes
constexpr int64_t kFirstBad = 28, kLastBad = 30;  // updates

// Images of updates kFirstBad to kLastBad of the first epoch become those of other classes, so
// that the names say something else than what is seen.
void relabel(const fs::path& train) {
  const auto dataset = data::open_dataset(train.string());
  const data::EpochOrder order(dataset->size(), /*seed=*/0, /*epoch=*/0);
  std::map<int32_t, std::string> donor;  // of each class, outside the window
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
      "--max-steps", "60", "--checkpoint-steps", "14", "--keep", "2", "--print-freq", "1"};
  // clang-format on
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::vector<nlohmann::json> history(const fs::path& run, const std::string& event) {
  std::vector<nlohmann::json> entries;
  for (const auto& line : test::lines_of(test::read_text(run / "history.jsonl"))) {
    auto json = nlohmann::json::parse(line);
    if (json["event"] == event) entries.push_back(json);
  }
  return entries;
}

// Mean loss of the updates after `step`.
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

}  // namespace

TEST_CASE("a stretch of wrong labels is named; with rollback it leaves no trace") {
  const test::TemporaryDirectory directory;
  const fs::path& root = directory.path();
  for (const std::string data : {"good", "bad"}) test::make_images(root / data, 720, 40, 4, 40);
  relabel(root / "bad" / "train");
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
  train("bad", "said", unsaved);
  const auto said = history(root / "said", "loss_spike");
  REQUIRE(said.size() >= 1);
  REQUIRE(said[0]["step"] == kFirstBad);
  REQUIRE(history(root / "said", "rollback").empty());

  const auto outcome = train("bad", "back", {"--on-spike", "rollback"});
  REQUIRE(outcome.out.find("event=loss_spike; loss=") != std::string::npos);
  const auto rollbacks = history(root / "back", "rollback");
  REQUIRE(rollbacks.size() >= 1);
  REQUIRE(rollbacks.size() <= 3);
  for (const auto& rollback : rollbacks) REQUIRE(rollback["to_step"] == kFirstBad - 14);
  const auto skipped = rollbacks.back()["last_skipped"].get<int64_t>();
  REQUIRE(skipped >= kLastBad);
  REQUIRE(skipped <= kLastBad + 6);
  REQUIRE(outcome.err.find("the images of updates 15 to ") != std::string::npos);

  // Afterwards no different from another run on good data, to within what other seeds do; without a
  // rollback it would be.
  const double calm = loss_after(root / "calm", skipped);
  double spread = 0;
  for (const std::string seed : {"1", "2", "3"}) {
    train("good", "seed" + seed, {"--seed", seed, "--checkpoint-steps", "1000"});
    spread = std::max(spread, std::abs(loss_after(root / ("seed" + seed), skipped) - calm));
  }
  const double back = loss_after(root / "back", skipped),
               said_only = loss_after(root / "said", skipped);
  INFO("calm " << calm << ", other seeds up to " << spread << " away, rolled back " << back
               << ", said only " << said_only);
  REQUIRE(std::abs(back - calm) < 2 * spread + 0.02);
  REQUIRE(std::abs(said_only - calm) > 2 * spread + 0.02);

  // Killed just before it hears of the spike, and resumed: the same end.
  const auto killed =
      test::run_shoal(run_words(root, "bad", "killed", {"--on-spike", "rollback"}), {}, [&](pid_t) {
        return fs::exists(root / "killed" / "checkpoints" / "epoch-0000-step-00000028.json");
      });
  REQUIRE(killed.exit_code == 137);
  train("bad", "killed", {"--on-spike", "rollback", "--resume"});
  REQUIRE(last_checksum(root / "killed") == last_checksum(root / "back"));
}

TEST_CASE("a spike can ask for a checkpoint; without one from before, the run goes on") {
  const test::TemporaryDirectory directory;
  const fs::path& root = directory.path();
  test::make_images(root / "bad", 720, 40, 4, 40);
  relabel(root / "bad" / "train");
  for (const std::string reaction : {"checkpoint", "rollback"}) {
    const auto outcome = test::run_shoal(
        run_words(root, "bad", reaction,
                  {"--on-spike", reaction, "--max-steps", "33", "--checkpoint-steps", "1000"}));
    INFO(outcome.err << outcome.out);
    REQUIRE(outcome.exit_code == 0);
    REQUIRE(history(root / reaction, "loss_spike").size() >= 1);
    if (reaction == "checkpoint")
      REQUIRE(fs::exists(root / reaction / "checkpoints" / "epoch-0000-step-00000029.pt"));
    else
      REQUIRE(outcome.err.find("no checkpoint from before update 28") != std::string::npos);
  }
}
