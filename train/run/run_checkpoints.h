#pragma once
// Decides when a run saves checkpoints, writes them, and exports the model at the end of the run.

#include <memory>
#include <optional>
#include <string>

#include "dist/control_message.h"
#include "train/checkpoint/find_checkpoint.h"
#include "train/control/recovery.h"
#include "train/run/pause.h"
#include "train/run/run_context.h"

namespace shoal::train {

// Prepares the checkpoint directory for a run that starts at `position`. Renames the checkpoints
// that are later than `position`. If an earlier run was killed before it wrote the marker (.json)
// of a checkpoint, writes the marker. Call it on rank 0 before the Reporter opens files. `start`:
// result of find_start(); its tensors may already be freed. Throws what require_own() throws, and
// std::runtime_error if a folder cannot be written, or if another run uses the directory or has
// saved a checkpoint in it since find_start().
void open_checkpoints(const ResolvedJob& job, const Start& start, const Position& position,
                      CheckpointStore& store);

class RunCheckpoints {
 public:
  // All references must outlive this object.
  RunCheckpoints(const RunContext& run, dist::ControlChannel& control, const Recovery& recovery);

  // Whether --checkpoint-steps requires a checkpoint now. The same on all ranks.
  bool due_by_steps() const;
  // Whether --checkpoint-minutes have passed since the last checkpoint, by rank 0's clock. False on
  // other ranks.
  bool due_by_time() const;

  // Updates the position. On rank 0, starts a thread that copies the state and writes the copy as a
  // checkpoint; the state of a GPU is copied by the caller's thread. The trainer changes nothing
  // before the state is copied. First waits for the previous checkpoint, like finish(). Like all
  // functions that save, writes nothing if no step was made. `top1`: accuracy in percent, if this
  // state was evaluated. `history_lines`: number of lines of history.jsonl to keep at --resume;
  // default: all. Call it on every rank.
  void save(std::optional<double> top1 = {}, std::optional<int64_t> history_lines = {});

  // Waits until the checkpoint is written. If that failed, logs a warning, reports an event and,
  // with --on-save-error stop, throws std::runtime_error on rank 0.
  void finish();
  // Like finish(), but does nothing while the checkpoint is still being written.
  void poll();

  // Saves the state of a run that is about to end with an error, and waits until it is written.
  // Writes nothing if the final save has already been tried. If saving fails, logs a warning and
  // reports an event, but does not throw. Collective.
  void save_before_failure(std::optional<int64_t> history_lines = {});

  // Calls save_before_failure(), then throws std::runtime_error(reason). Every rank must call it at
  // the same step. Collective.
  [[noreturn]] void save_and_fail(const std::string& reason,
                                  std::optional<int64_t> history_lines = {});

  // Like save_before_failure(), but only for rank 0 and not collective. Another thread may call it
  // after Progress::freeze(). Returns the error; empty if the state is saved or no step was made.
  std::string save_alone(std::optional<int64_t> history_lines = {}) noexcept;

  // Call it at the end of a run. Like finish(), but throws std::runtime_error on rank 0 if the last
  // checkpoint could not be written.
  void require_saved();

  // Exports the model to --export-dir on rank 0, also after a stop. Call it after the run's last
  // save(). Returns nullopt on other ranks, if the option is not set, or if there is nothing to
  // export because nothing was trained. Throws like export_run().
  std::optional<Exported> export_weights();

 private:
  void note_position(std::optional<int64_t> history_lines);
  void save_last(std::optional<int64_t> history_lines);
  void begin(std::optional<double> top1, double since);
  void take_result();
  std::string newest_saved() const;
  void note_failure(const std::string& reason, const char* advice = "");
  void throw_if_failed();

  const RunContext& run_;
  dist::ControlChannel& control_;
  const Recovery& recovery_;
  std::shared_ptr<Pause> pause_ = std::make_shared<Pause>();
  // Copy of the state that is being written. Kept for the next save, because new memory takes
  // longer to fill. Null before the first save.
  std::shared_ptr<CheckpointData> copy_;
  int64_t saving_step_ = 0;  // step of the state in copy_
  double saved_at_;          // time of the last save, from now()
  std::string failure_;      // error of the last finished save; empty if it succeeded
  int failures_ = 0;         // number of consecutive failed saves
  bool ended_ = false;       // makes save_before_failure() and save_alone() do nothing
};

}  // namespace shoal::train
