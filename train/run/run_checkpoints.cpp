#include "train/run/run_checkpoints.h"

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <utility>

#include "base/format/grouped.h"
#include "base/log.h"
#include "base/now.h"
#include "train/checkpoint/export.h"
#include "train/checkpoint/resume.h"
#include "train/report/history_file.h"

namespace shoal::train {

RunCheckpoints::RunCheckpoints(const RunContext& run, dist::ControlChannel& control,
                               const Recovery& recovery)
    : run_(run), control_(control), recovery_(recovery), saved_at_(now()) {}

void open_checkpoints(const ResolvedJob& job, const Start& start, const Position& position,
                      CheckpointStore& store) {
  store.open_for_writing(log::warning);
  require_own(store, start);
  for (const std::string& name : store.names())
    if (std::find(start.seen.begin(), start.seen.end(), name) == start.seen.end())
      throw std::runtime_error("another run saved " + name + " in " + store.directory().string() +
                               " while this run started; start this run again with --resume");
  if (!job.resume_path.empty()) store.protect(start.file);
  store.protect_before(position.trusted_before());
  store.set_aside_after(position.epoch, position.step, log::warning);
  store.prune();  // the last save may have been interrupted before it pruned
}

bool RunCheckpoints::due_by_steps() const {
  const int64_t interval = run_.job.checkpoint_steps;
  return interval > 0 && run_.position.step % interval == 0;
}

bool RunCheckpoints::due_by_time() const {
  const double minutes = run_.job.checkpoint_minutes;
  return run_.leader() && minutes > 0 && now() - saved_at_ > 60 * minutes;
}

void RunCheckpoints::save(std::optional<double> top1, std::optional<int64_t> history_lines) {
  note_position(history_lines);
  const bool saved = write_or_warn(top1);
  if (saved || run_.job.on_save_error == OnSaveError::go_on) return;
  ended_ = true;
  throw std::runtime_error(failure_);
}

void RunCheckpoints::save_before_failure(std::optional<int64_t> history_lines) {
  if (ended_) return;
  control_.collect();  // no message may be pending when the run ends
  note_position(history_lines);
  ended_ = true;
  write_or_warn(std::nullopt);
}

std::string RunCheckpoints::save_alone(std::optional<int64_t> history_lines) noexcept try {
  if (std::exchange(ended_, true)) return failure_;
  Ema* const ema = run_.trainer.ema();
  if (ema && ema->swapped()) ema->swap();  // the run was interrupted while it evaluated the EMA
  note_position(history_lines);
  write_or_warn(std::nullopt);
  return failure_;
} catch (const std::exception& error) {
  log::warning(std::string("the state is not saved: ") + error.what());
  return error.what();
}

void RunCheckpoints::save_and_fail(const std::string& reason,
                                   std::optional<int64_t> history_lines) {
  save_before_failure(history_lines);
  throw std::runtime_error(reason);
}

void RunCheckpoints::require_saved() {
  ended_ = true;
  if (!failure_.empty())
    throw std::runtime_error("the final state of the run could not be saved: " + failure_);
}

void RunCheckpoints::note_position(std::optional<int64_t> history_lines) {
  saved_at_ = now();
  Position& position = run_.position;
  position.losses = recovery_.losses();
  position.history_lines = history_lines.value_or(run_.reporter.history_lines());
  if (run_.job.time_budget == 0) return;  // without times, equal runs save equal checkpoints
  position.trained_seconds = run_.time.trained(saved_at_);
  position.step_seconds = run_.time.step_seconds();
}

// Returns false if the checkpoint could not be written. Ranks other than 0 return true. Writes
// nothing before the first step, so a restart finds no checkpoint and may change any setting.
bool RunCheckpoints::write_or_warn(std::optional<double> top1) {
  if (!run_.leader() || run_.position.step == 0) return true;
  const auto saving = run_.communicator.main.during(dist::Phase::saving);
  const char* advice = "";
  try {
    auto data = snapshot(run_.trainer, run_.position, run_.job, run_.classes);
    if (top1) data.numbers["top1"] = *top1;
    advice = "; free some space or repair the disk";
    write(data, top1);
    failure_.clear();
    failures_ = 0;
  } catch (const std::exception& error) {
    failure_ = error.what();
    ++failures_;
  }
  if (failure_.empty()) return true;
  log::warning(strf("the state after step %ld is NOT SAVED: %s%s", run_.position.step,
                    failure_.c_str(), advice));
  // Not in the history, because equal runs must write equal histories.
  run_.reporter.event({"save_failed",
                       run_.position.step,
                       {{"in_a_row", static_cast<double>(failures_)}},
                       /*in_history=*/false});
  return false;
}

// Copies the history to the checkpoint folder. Returns the error message; empty if there is none.
std::string RunCheckpoints::copy_history() {
  try {
    run_.store.write_file(kHistoryFile, run_.reporter.history_text());
    return "";
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

void RunCheckpoints::write(const CheckpointData& data, std::optional<double> top1) {
  std::string history_error = copy_history();
  const auto entry = run_.store.save(
      run_.position.epoch, run_.position.step, top1,
      [&](const CheckpointStore::Sink& sink) { write_checkpoint(data, sink); },
      run_.position.before_closing.has_value());
  log::info(strf("saved %s (%.1f MB, %.2f s)", run_.store.path(entry).c_str(),
                 megabytes(entry.bytes), now() - saved_at_));
  if (!history_error.empty()) history_error = copy_history();  // pruning may have made space
  if (!history_error.empty())
    log::warning("the history is not copied to the checkpoints: " + history_error);
}

std::optional<Exported> RunCheckpoints::export_weights() {
  ended_ = failure_.empty();  // if the last save succeeded, a failed export must not repeat it
  if (!run_.leader() || run_.job.export_dir.empty()) return std::nullopt;
  const auto saving = run_.communicator.main.during(dist::Phase::saving);
  if (run_.position.step == 0 && run_.job.weights.empty()) {
    log::warning("no model is exported because nothing was trained yet");
    return std::nullopt;
  }
  return export_run(run_.job, run_.store, run_.position,
                    [&] { return snapshot(run_.trainer, run_.position, run_.job, run_.classes); });
}

}  // namespace shoal::train
