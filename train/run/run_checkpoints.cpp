#include "train/run/run_checkpoints.h"

#include <c10/util/ParallelGuard.h>

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
namespace {

// The history for the checkpoint folder, or why it could not be read.
struct History {
  explicit History(const Reporter& reporter) {
    try {
      text = reporter.history_text();
    } catch (const std::runtime_error& failure) {
      error = failure.what();
    }
  }

  // Writes the text, unless it could not be read. Returns the error message; empty if there is
  // none.
  std::string write_to(CheckpointStore& store) const {
    try {
      if (error.empty()) store.write_file(kHistoryFile, text);
      return error;
    } catch (const std::runtime_error& failure) {
      return failure.what();
    }
  }

  std::string text, error;
};

// Writes a checkpoint and a copy of the history. `paused`: seconds that training waited for it.
void write(const CheckpointData& data, const History& history, std::optional<double> top1,
           bool closing, double paused, CheckpointStore& store) {
  const double began = now();
  std::string history_error = history.write_to(store);
  const auto entry = store.save(
      data.integer("epoch"), data.integer("step"), top1,
      [&](const CheckpointStore::Sink& sink) { write_checkpoint(data, sink); }, closing);
  log::info(strf("saved %s (%.1f MB in %.2f s; training paused %.1f ms)", store.path(entry).c_str(),
                 megabytes(entry.bytes), now() - began, 1e3 * paused));
  if (!history_error.empty())
    history_error = history.write_to(store);  // pruning may have made space
  if (!history_error.empty())
    log::warning("the history is not copied to the checkpoints: " + history_error);
}

}  // namespace

RunCheckpoints::RunCheckpoints(const RunContext& run, dist::ControlChannel& control,
                               const Recovery& recovery)
    : run_(run), control_(control), recovery_(recovery), saved_at_(now()) {
  run.trainer.set_before_change([pause = pause_] { pause->wait(); });
}

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
  const double since = now();
  finish();
  note_position(history_lines);
  begin(top1, since);
  throw_if_failed();
}

void RunCheckpoints::poll() {
  if (run_.store.finished()) finish();
}

void RunCheckpoints::finish() {
  take_result();
  throw_if_failed();
}

void RunCheckpoints::throw_if_failed() {
  if (failure_.empty() || run_.job.on_save_error == OnSaveError::go_on) return;
  ended_ = true;
  throw std::runtime_error(failure_);
}

void RunCheckpoints::save_before_failure(std::optional<int64_t> history_lines) {
  if (ended_) return;
  control_.collect();  // no message may be pending when the run ends
  save_last(history_lines);
}

void RunCheckpoints::save_last(std::optional<int64_t> history_lines) {
  ended_ = true;
  const double since = now();
  take_result();
  note_position(history_lines);
  begin(std::nullopt, since);
  take_result();
}

std::string RunCheckpoints::save_alone(std::optional<int64_t> history_lines) noexcept try {
  if (std::exchange(ended_, true)) return failure_;
  const Ema* const ema = run_.trainer.ema();
  if (ema && ema->swapped())
    run_.trainer.swap_ema();  // the run was interrupted while it evaluated the EMA
  save_last(history_lines);
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
  take_result();
  if (!failure_.empty())
    throw std::runtime_error(strf("the state after step %ld could not be saved: ", saving_step_) +
                             failure_ + newest_saved());
}

// Returns "; --resume continues from …" or, without a checkpoint, "; no checkpoint is saved".
std::string RunCheckpoints::newest_saved() const try {
  const std::vector<CheckpointEntry> entries = run_.store->entries();
  if (entries.empty()) return "; no checkpoint is saved";
  return "; --resume continues from " + run_.store->path(entries.front()).string();
} catch (const std::exception&) {  // the folder cannot be read either
  return "";
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

// Starts to copy and write the state, on rank 0. Writes nothing before the first step, so a restart
// finds no checkpoint and may change any setting. `since`: time when training began to wait, from
// now().
void RunCheckpoints::begin(std::optional<double> top1, double since) {
  if (!run_.leader() || run_.position.step == 0) return;
  const auto saving = run_.communicator.main.during(dist::Phase::saving);
  saving_step_ = run_.position.step;
  try {
    if (!copy_) copy_ = std::make_shared<CheckpointData>();
    put_scalars(run_.trainer, run_.position, run_.job, run_.classes, *copy_);
    if (top1) copy_->numbers["top1"] = *top1;
    const bool on_cpu = run_.trainer.parameters().flat().is_cpu();
    // A thread's copies from a GPU would be in the order of its own stream.
    if (!on_cpu) run_.trainer.save_tensors(*copy_);
    auto save = [copy = copy_, pause = pause_, on_cpu, top1, trainer = &run_.trainer,
                 history = History(run_.reporter),
                 closing = run_.position.before_closing.has_value()](CheckpointStore& store) {
      const c10::ParallelGuard one_thread(true);  // no second team of OpenMP threads
      {
        const Pause::End end(*pause);
        if (on_cpu) trainer->save_tensors(*copy);
      }
      write(*copy, history, top1, closing, pause->seconds(), store);
    };
    pause_->begin(now() - since);
    run_.store.start(std::move(save));
  } catch (const std::exception& error) {
    const Pause::End end(*pause_);
    note_failure(error.what());
  }
}

void RunCheckpoints::take_result() {
  if (!run_.store.started()) return;
  try {
    run_.store.finish();
    failure_.clear();
    failures_ = 0;
  } catch (const std::runtime_error& error) {  // of the disk
    note_failure(error.what(), "; free some space or repair the disk");
  } catch (const std::exception& error) {
    note_failure(error.what());
  }
}

void RunCheckpoints::note_failure(const std::string& reason, const char* advice) {
  failure_ = reason;
  ++failures_;
  std::string text =
      strf("the state after step %ld is NOT SAVED: %s%s", saving_step_, failure_.c_str(), advice);
  const bool over = ended_ || run_.steps_over() || run_.patience_over();
  if (!over && run_.job.on_save_error == OnSaveError::go_on)
    text += "; training continues, and the next save tries again" + newest_saved();
  log::warning(text);
  // Not in the history, because equal runs must write equal histories.
  run_.reporter.event({"save_failed",
                       saving_step_,
                       {{"in_a_row", static_cast<double>(failures_)}},
                       /*in_history=*/false});
}

std::optional<Exported> RunCheckpoints::export_weights() {
  take_result();
  ended_ = failure_.empty();  // if the last save succeeded, a failed export must not repeat it
  if (!run_.leader() || run_.job.export_dir.empty()) return std::nullopt;
  const auto saving = run_.communicator.main.during(dist::Phase::saving);
  if (run_.position.step == 0 && run_.job.weights.empty()) {
    log::warning("no model is exported because nothing was trained yet");
    return std::nullopt;
  }
  return export_run(run_.job, *run_.store, run_.position,
                    [&] { return snapshot(run_.trainer, run_.position, run_.job, run_.classes); });
}

}  // namespace shoal::train
