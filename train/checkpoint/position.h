#pragma once
// The position of a run: everything that resuming needs besides tensors.

#include <cstdint>
#include <optional>
#include <string>

#include "train/run/meter.h"

namespace shoal::train {

struct Position {
  // Records an evaluation of the current state.
  void note_best(double top1) {
    if (best_top1 && *best_top1 >= top1) return;
    best_top1 = top1, best_step = step, best_epoch = epoch;
  }

  int64_t epoch = 0;          // the epoch to start or continue
  int64_t step_in_epoch = 0;  // finished steps of this epoch
  int64_t step = 0;           // finished steps since the start of training
  int64_t non_finite = 0;     // total number of steps that were not committed
  int64_t non_finite_in_a_row = 0;
  int64_t history_lines = 0;  // lines of history.jsonl at this position
  // The epoch or the run has ended, but a stop came before its evaluation.
  bool evaluation_pending = false;
  bool epoch_over = false;          // ended before steps_per_epoch: the stream had no more data
  double lr = 0;                    // of the last step; 0: no step yet, or unknown
  Meter epoch_sum;                  // over all ranks, of the epoch so far
  std::optional<double> best_top1;  // percent
  std::optional<int64_t> best_step, best_epoch;  // of that evaluation; unknown in old checkpoints
  std::string losses;                            // LossWatch::state()
  Meter pending;              // over all ranks, of the step not yet exchanged between ranks
  int64_t rollbacks = 0;      // for the most recent failure (recovery.h)
  int64_t trouble_start = 0;  // first step of that failure
  int64_t skip_until = 0;     // images of steps up to this one are skipped
};

}  // namespace shoal::train
