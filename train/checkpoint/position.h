#pragma once
// The position of a run: everything besides tensors that changes during a run and that resuming
// needs.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "train/job/job.h"
#include "train/job/meter.h"

namespace shoal::train {

struct CheckpointData;

// Values of Position before a closing evaluation (Position::note_closing). forget_closing()
// restores them.
struct BeforeClosing {
  std::optional<double> best_top1;
  std::optional<int64_t> best_step, best_epoch;
  int64_t evaluations_since_best = 0;
  int64_t history_lines = 0;
};

struct Position {
  // Whether this accuracy, in percent, is higher than that of all evaluations so far.
  bool is_best(double top1) const { return !best_top1 || top1 > *best_top1; }
  // Records that the current state was evaluated with this accuracy, in percent.
  void note_best(double top1) {
    ++evaluations_since_best;
    if (!is_best(top1)) return;
    best_top1 = top1, best_step = step, best_epoch = epoch;
    evaluations_since_best = 0;
  }
  // Records a closing evaluation: one that is only due because the run ends here. `lines`: number
  // of history lines before it.
  void note_closing(double top1, int64_t lines) {
    before_closing = {best_top1, best_step, best_epoch, evaluations_since_best, lines};
    note_best(top1);
  }
  // Undoes note_closing(). A run that continues must choose the same best checkpoint as a run that
  // never stopped, and that run would not have made the closing evaluation.
  void forget_closing();

  // Returns the last step before the latest trouble: loss spikes that the run rolled back, or
  // non-finite steps. That step may have damaged the weights, so trust only checkpoints of earlier
  // steps. Returns 0 if there was no trouble.
  int64_t trusted_before() const {
    const int64_t before_spike = rollbacks > 0 ? trouble_start - 1 : 0;
    if (non_finite_in_a_row == 0) return before_spike;
    // The last finite step may have damaged the weights, so the state after it is not trusted.
    const int64_t before_non_finite = step - non_finite_in_a_row;
    return rollbacks > 0 ? std::min(before_spike, before_non_finite) : before_non_finite;
  }

  int64_t epoch = 0;          // epoch to start or continue
  int64_t step_in_epoch = 0;  // finished steps of this epoch
  int64_t step = 0;           // finished steps since the start of training
  int64_t non_finite = 0;     // total number of steps with a non-finite loss or gradient
  int64_t non_finite_in_a_row = 0;
  int64_t history_lines = 0;  // lines of history.jsonl at this position
  // Whether the last step of the epoch or run is done, but Run::end_epoch() has not begun yet.
  bool evaluation_pending = false;
  bool epoch_over = false;          // the epoch ended because a stream ran out of data
  double lr = 0;                    // learning rate of the last step; 0: no step yet, or unknown
  Meter epoch_sum;                  // metrics of the epoch so far, over all ranks
  std::optional<double> best_top1;  // percent
  // `step` and `epoch` when note_best() recorded best_top1; unset in old checkpoints.
  std::optional<int64_t> best_step, best_epoch;
  // Only with --time-budget. trained_seconds: seconds that the run has trained for, by rank 0's
  // clock. step_seconds: TimeBudget::step_seconds(). used_budget: value of --time-budget, in
  // seconds, when the run last used it up; 0: never.
  double trained_seconds = 0, step_seconds = 0, used_budget = 0;
  int64_t evaluations_since_best = 0;           // evaluations after the best one; for --patience
  std::optional<BeforeClosing> before_closing;  // only after note_closing()
  std::string losses;                           // LossWatch::state()
  // Metrics of the last step over all ranks, if `losses` does not include that step yet. Empty
  // unless read from an old checkpoint.
  Meter pending;
  int64_t rollbacks = 0;      // number of rollbacks for the latest series of spikes (recovery.h)
  int64_t trouble_start = 0;  // first step of that series
  int64_t skip_until = 0;     // last step (from 1) whose images are skipped (recovery.h); 0: none
  int64_t rollback_due = 0;   // step of the spike whose rollback is not finished; 0: none
  int64_t unreadable = 0;     // unreadable training images of the epoch, over all ranks
};

// Whether the epoch has made all its steps, or ended because a stream ran out of data.
inline bool epoch_complete(const Position& position, const ResolvedJob& job) {
  return position.epoch_over || (!job.open_ended && position.step_in_epoch == job.steps_per_epoch);
}

// Whether the run has made its last step, as set by --epochs, --max-steps or --time-budget.
inline bool steps_over(const Position& position, const ResolvedJob& job) {
  const bool out_of_time = position.used_budget > 0 && position.used_budget >= job.time_budget;
  return position.step >= job.last_step || (job.time_budget > 0 && out_of_time);
}

// Store the position in a checkpoint's data and read it back. read_position() accepts older
// checkpoints too.
void write_position(const Position& position, CheckpointData& data);
Position read_position(const CheckpointData& data);
// Whether the state in a checkpoint's data had a closing evaluation (Position::note_closing).
bool has_closing_evaluation(const CheckpointData& data);

}  // namespace shoal::train
