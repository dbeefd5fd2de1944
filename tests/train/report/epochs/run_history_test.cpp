#include "train/report/epochs/run_history.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "train/report/history_file.h"

using namespace shoal;
using namespace shoal::train;
using Catch::Matchers::Contains;

namespace {

std::string rows_of(int64_t epoch, double top1, bool ema) {
  StepReport step;
  step.epoch = epoch;
  step.last = step.epoch_sum = {2, 1, 2, 4, 0};
  step.images_per_second = 100;
  EvaluationReport evaluation;
  evaluation.epoch = epoch;
  evaluation.sum = {50, top1, 90, 100, 0};
  evaluation.ema = ema;
  return history_row(step) + "\n" + history_row(evaluation) + "\n";
}

}  // namespace

TEST_CASE("a history is read back by epoch, as it was written") {
  const RunHistory history =
      read_history(rows_of(0, 30, false) + rows_of(1, 40, false) + rows_of(1, 20, true));
  REQUIRE(history.epochs.size() == 2);
  const EpochValues& last = history.epochs[1];
  CHECK(last.epoch == 1);
  CHECK(last.train_loss == 0.5);
  CHECK(last.loss == 0.5);
  CHECK(last.top1 == 40);
  CHECK(last.top5 == 90);
  CHECK(last.ema_top1 == 20);
  CHECK(last.speed.images_per_second() == 100);
  CHECK(best_epoch(history.epochs) == 0);  // epoch 1 is ranked by its averaged weights: 20 %
  CHECK_FALSE(history.torn);
  CHECK(read_history("").epochs.empty());
  CHECK_FALSE(best_epoch({}));
}

TEST_CASE("rows of other events, or of impossible epochs, belong to no epoch") {
  EpochCollector collector;
  for (const char* event : {"train", "valid", "valid_ema"})
    CHECK(collector.add({{"event", event}, {"epoch", 3}}) == 3);
  CHECK_FALSE(collector.add({{"event", "test"}, {"epoch", 4}}));
  CHECK_FALSE(collector.add({{"event", 1}, {"epoch", 4}}));
  CHECK_FALSE(collector.add({{"epoch", 4}}));
  for (const nlohmann::json& epoch : std::vector<nlohmann::json>{-1, 1e9, 1e300, "4", nullptr})
    CHECK_FALSE(collector.add({{"event", "train"}, {"epoch", epoch}}));
  CHECK_FALSE(collector.add({{"event", "train"}}));
  REQUIRE(collector.epochs().size() == 1);
  CHECK(collector.epochs()[0].epoch == 3);
}

TEST_CASE("an epoch's speed is that of all its steps, not of the last row") {
  // A step has 4 images: 30 steps at 10 images/s take 12 s, then 3 at 100 images/s take 0.12 s.
  StepReport step;
  step.last = step.epoch_sum = {4, 1, 2, 4, 0};
  step.step_in_epoch = 30, step.images_per_second = 10, step.step_seconds = 0.9;
  std::string text = history_row(step) + "\n";
  step.step_in_epoch = 33, step.images_per_second = 100, step.step_seconds = 0.01;
  text += history_row(step) + "\n";
  CHECK(*read_history(text).epochs.at(0).speed.images_per_second() == Approx(4 * 33 / 12.12));
  MeanSpeed speed;
  CHECK_FALSE(speed.images_per_second());
  speed.add(10, 20);
  speed.add(10, std::nullopt);
  CHECK(*speed.images_per_second() == 20);
  speed.add(5, 10);  // after a rollback: counts as one step
  CHECK(*speed.images_per_second() == Approx(11 / (10 / 20.0 + 1 / 10.0)));
}

TEST_CASE("the table of epochs marks the best one, even if it is not among the last ones") {
  std::string text;
  for (int epoch = 0; epoch < 6; ++epoch) text += rows_of(epoch, epoch == 1 ? 77 : 50, false);
  const auto epochs = read_history(text).epochs;
  const std::string all = epoch_table_text(epochs);
  CHECK(std::count(all.begin(), all.end(), '\n') == 6);
  CHECK_THAT(all, Contains("\n    1      0.5000    0.5000   77.000   90.000      100.0  best\n"));
  CHECK_THAT(all, !Contains("EMA"));
  const std::string few = epoch_table_text(epochs, 2);
  CHECK(std::count(few.begin(), few.end(), '\n') == 4);
  CHECK_THAT(few, Contains("  best\n  ...  (4 epochs, see history.jsonl)\n    4 "));
  CHECK_THAT(epoch_table_text(read_history(rows_of(0, 9, true)).epochs), Contains("EMA top-1"));
  std::vector<EpochValues> diverged(1);
  diverged[0].train_loss = 25.5;
  diverged[0].loss = 1.866e15;
  CHECK_THAT(epoch_table_text(diverged), Contains(" 25.5000  1.87e+15 "));
}
