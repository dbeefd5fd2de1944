#pragma once
// When a run saves, and what it writes: checkpoints, and the exported model at its end.

#include <optional>
#include <string>

#include "train/control/control_exchange.h"
#include "train/control/recovery.h"
#include "train/run/epoch_metrics.h"
#include "train/run/run_context.h"

namespace shoal::train {

class RunCheckpoints {
 public:
  // All references must outlive it.
  RunCheckpoints(const RunContext& run, ControlExchange& control, EpochMetrics& metrics,
                 const Recovery& recovery);

  // Rank 0: removes what an interrupted run left, sets aside checkpoints later than the position,
  // and makes the export folder. Throws std::runtime_error if a folder cannot be written or another
  // run uses it.
  void open();

  // Whether --checkpoint-steps asks for a checkpoint after the last step; the same on all ranks.
  bool due_by_steps() const;
  // Whether --checkpoint-minutes have passed since the last checkpoint. Rank 0's clock decides:
  // false on other ranks.
  bool due_by_time() const;

  // Brings the position up to date; rank 0 saves. `top1`: percent, if the state was evaluated.
  // `history_lines`: lines of history.jsonl that belong to the state, if not all. Collective.
  void save(std::optional<double> top1 = {}, std::optional<int64_t> history_lines = {});

  // Saves and throws std::runtime_error(reason), for failures that all ranks have at the same step.
  // Collective.
  [[noreturn]] void save_and_fail(const std::string& reason,
                                  std::optional<int64_t> history_lines = {});

  // Rank 0 exports the model to --export-dir, also after a stop. Nothing if the option is not set or
  // nothing was trained.
  std::optional<Exported> export_weights() const;

 private:
  void write(std::optional<double> top1);

  const RunContext& run_;
  ControlExchange& control_;
  EpochMetrics& metrics_;
  const Recovery& recovery_;
  double saved_at_;  // seconds, now()
};

}  // namespace shoal::train
