#pragma once
// Decides when a run saves checkpoints, writes them, and exports the model at the end of the run.

#include <optional>
#include <string>

#include "train/control/control_exchange.h"
#include "train/control/recovery.h"
#include "train/run/epoch_metrics.h"
#include "train/run/run_context.h"

namespace shoal::train {

class RunCheckpoints {
 public:
  // All references must outlive this object.
  RunCheckpoints(const RunContext& run, ControlExchange& control, EpochMetrics& metrics,
                 const Recovery& recovery);

  // On rank 0: removes incomplete files of an interrupted run, renames checkpoints that are later
  // than the position, and creates the export folder. Throws std::runtime_error if a folder is not
  // writable or another run uses it.
  void open();

  // Whether --checkpoint-steps requires a checkpoint now. The same on all ranks.
  bool due_by_steps() const;
  // Whether --checkpoint-minutes have passed since the last checkpoint. Rank 0's clock decides:
  // false on other ranks.
  bool due_by_time() const;

  // Updates the position and saves a checkpoint on rank 0. `top1`: accuracy in percent, if this
  // state was evaluated. `history_lines`: number of lines of history.jsonl to keep at --resume;
  // default: all. Collective.
  void save(std::optional<double> top1 = {}, std::optional<int64_t> history_lines = {});

  // Saves a checkpoint and throws std::runtime_error(reason). Every rank must call it at the same
  // step. Collective.
  [[noreturn]] void save_and_fail(const std::string& reason,
                                  std::optional<int64_t> history_lines = {});

  // Exports the model to --export-dir on rank 0, also after a stop. Returns nullopt on other ranks,
  // if the option is not set, or if there is nothing to export because nothing was trained.
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
