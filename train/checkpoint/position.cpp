#include "train/checkpoint/position.h"

#include "train/weights/checkpoint_file.h"

namespace shoal::train {
namespace {

void put(CheckpointData& data, const std::string& name, const Meter& meter) {
  const auto values = meter.values();
  for (size_t i = 0; i < values.size(); ++i) data.numbers[name + std::to_string(i)] = values[i];
}

Meter meter_in(const CheckpointData& data, const std::string& name) {
  double values[Meter::kValues];
  for (int i = 0; i < Meter::kValues; ++i) values[i] = data.number(name + std::to_string(i));
  return Meter::from(values);
}

// Names of a checkpoint's entries for the values of Position::before_closing.
constexpr const char* kLinesBeforeClosing = "history_lines_before_closing";
constexpr const char* kTop1Before = "best_top1_before_closing";
constexpr const char* kStepBefore = "best_step_before_closing";
constexpr const char* kEpochBefore = "best_epoch_before_closing";
constexpr const char* kEvaluationsBefore = "evaluations_since_best_before_closing";

void put(CheckpointData& data, const BeforeClosing& before) {
  data.integers[kLinesBeforeClosing] = before.history_lines;
  data.integers[kEvaluationsBefore] = before.evaluations_since_best;
  if (before.best_top1) data.numbers[kTop1Before] = *before.best_top1;
  if (before.best_step) data.integers[kStepBefore] = *before.best_step;
  if (before.best_epoch) data.integers[kEpochBefore] = *before.best_epoch;
}

std::optional<BeforeClosing> before_closing_in(const CheckpointData& data) {
  if (!has_closing_evaluation(data)) return std::nullopt;
  BeforeClosing before;
  before.history_lines = data.integer(kLinesBeforeClosing);
  before.evaluations_since_best = data.integer(kEvaluationsBefore);
  if (data.numbers.contains(kTop1Before)) before.best_top1 = data.number(kTop1Before);
  if (data.integers.contains(kStepBefore)) before.best_step = data.integer(kStepBefore);
  if (data.integers.contains(kEpochBefore)) before.best_epoch = data.integer(kEpochBefore);
  return before;
}

}  // namespace

void Position::forget_closing() {
  if (!before_closing) return;
  best_top1 = before_closing->best_top1;
  best_step = before_closing->best_step;
  best_epoch = before_closing->best_epoch;
  evaluations_since_best = before_closing->evaluations_since_best;
  history_lines = before_closing->history_lines;
  before_closing.reset();
}

bool has_closing_evaluation(const CheckpointData& data) {
  return data.integers.contains(kLinesBeforeClosing);
}

void write_position(const Position& position, CheckpointData& data) {
  data.integers["epoch"] = position.epoch;
  data.integers["step_in_epoch"] = position.step_in_epoch;
  data.integers["step"] = position.step;
  data.integers["non_finite"] = position.non_finite;
  data.integers["non_finite_in_a_row"] = position.non_finite_in_a_row;
  data.integers["rollbacks"] = position.rollbacks;
  data.integers["trouble_start"] = position.trouble_start;
  data.integers["skip_until"] = position.skip_until;
  if (position.rollback_due > 0) data.integers["rollback_due"] = position.rollback_due;
  if (position.unreadable > 0) data.integers["unreadable"] = position.unreadable;
  data.integers["history_lines"] = position.history_lines;
  data.integers["evaluation_pending"] = position.evaluation_pending;
  data.integers["epoch_over"] = position.epoch_over;
  put(data, "epoch_sum_", position.epoch_sum);
  data.numbers["lr"] = position.lr;
  if (position.trained_seconds > 0) {
    data.numbers["trained_seconds"] = position.trained_seconds;
    data.numbers["step_seconds"] = position.step_seconds;
    data.numbers["used_budget"] = position.used_budget;
  }
  data.text["losses"] = position.losses;
  if (position.best_top1) data.numbers["best_top1"] = *position.best_top1;
  data.integers["evaluations_since_best"] = position.evaluations_since_best;
  if (position.best_step) data.integers["best_step"] = *position.best_step;
  if (position.best_epoch) data.integers["best_epoch"] = *position.best_epoch;
  if (position.before_closing) put(data, *position.before_closing);
}

Position read_position(const CheckpointData& data) {
  Position position;
  position.epoch = data.integer("epoch");
  position.step_in_epoch = data.integer("step_in_epoch");
  position.step = data.integer("step");
  position.non_finite = data.integer("non_finite");
  position.non_finite_in_a_row = data.integer("non_finite_in_a_row");
  position.history_lines = data.integer("history_lines");
  position.evaluation_pending = data.integer("evaluation_pending") != 0;
  position.epoch_sum = meter_in(data, "epoch_sum_");
  if (data.numbers.count("posted_0")) position.pending = meter_in(data, "posted_");
  position.losses = data.string("losses");
  position.rollbacks = data.integer("rollbacks");
  position.trouble_start = data.integer("trouble_start");
  position.skip_until = data.integer("skip_until");
  if (data.integers.count("rollback_due")) position.rollback_due = data.integer("rollback_due");
  if (data.integers.count("unreadable")) position.unreadable = data.integer("unreadable");
  position.epoch_over = data.integer("epoch_over") != 0;
  if (data.numbers.count("lr")) position.lr = data.number("lr");
  if (data.numbers.count("trained_seconds")) {  // only with --time-budget
    position.trained_seconds = data.number("trained_seconds");
    position.step_seconds = data.number("step_seconds");
    position.used_budget = data.number("used_budget");
  }
  if (data.numbers.count("best_top1")) position.best_top1 = data.number("best_top1");
  if (data.integers.count("evaluations_since_best"))  // missing in older checkpoints
    position.evaluations_since_best = data.integer("evaluations_since_best");
  if (data.integers.count("best_step")) position.best_step = data.integer("best_step");
  if (data.integers.count("best_epoch")) position.best_epoch = data.integer("best_epoch");
  position.before_closing = before_closing_in(data);
  return position;
}

}  // namespace shoal::train
