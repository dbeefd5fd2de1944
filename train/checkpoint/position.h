#pragma once
// Where a run is: everything that resuming needs besides tensors.

#include <cstdint>
#include <optional>
#include <string>

#include "train/run/meter.h"

namespace shoal::train {

struct Position {
  // An evaluation of the state as it is now.
  void note_best(double top1) {
    if (best_top1 && *best_top1 >= top1) return;
    best_top1 = top1, best_step = step, best_epoch = epoch;
  }

  int64_t epoch = 0;          // the one to start or continue
  int64_t step_in_epoch = 0;  // updates done in it
  int64_t step = 0;           // updates done since the start of training
  int64_t non_finite = 0;     // updates that were not committed, in all
  int64_t non_finite_in_a_row = 0;
  int64_t history_lines = 0;  // of history.jsonl when the position was taken
  // The epoch or the run has ended and its evaluation has not: a stop came between.
  bool evaluation_pending = false;
  bool epoch_over = false;          // it has ended before steps_per_epoch: a stream had no more
  double lr = 0;                    // of the last step; 0: none was done, or not known
  Meter epoch_sum;                  // over all ranks, of the epoch so far
  std::optional<double> best_top1;  // percent
  std::optional<int64_t> best_step, best_epoch;  // of that evaluation; unknown in old checkpoints
  std::string losses;                            // LossWatch::state()
  Meter posted;           // over all ranks, of the update that they have not yet told each other of
  int64_t rollbacks = 0;  // for the trouble the run was in last (recovery.h)
  int64_t trouble_start = 0;  // its first update
  int64_t skip_until = 0;     // images of updates up to this one are skipped
};

}  // namespace shoal::train
