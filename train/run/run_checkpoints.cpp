#include "train/run/run_checkpoints.h"

#include <stdexcept>

#include "base/log.h"
#include "train/checkpoint/export.h"
#include "train/checkpoint/resume.h"
#include "train/run/pace.h"

namespace shoal::train {

RunCheckpoints::RunCheckpoints(const RunContext& run, ControlExchange& control,
                               EpochMetrics& metrics, const Recovery& recovery)
    : run_(run), control_(control), metrics_(metrics), recovery_(recovery), saved_at_(now()) {}

void RunCheckpoints::open() {
  if (!run_.leader()) return;
  run_.store.open_for_writing();
  run_.store.set_aside_after(run_.position.epoch, run_.position.step, log::warning);
  if (!run_.job.export_dir.empty()) open_export_folder(run_.job.export_dir);
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
  saved_at_ = now();
  Position& position = run_.position;
  position.losses = recovery_.losses();
  position.pending = control_.pending();
  metrics_.reduce(position.pending);
  position.history_lines = history_lines.value_or(run_.reporter.history_lines());
  if (run_.leader()) write(top1);
}

void RunCheckpoints::save_and_fail(const std::string& reason,
                                   std::optional<int64_t> history_lines) {
  control_.discard();
  save(std::nullopt, history_lines);
  throw std::runtime_error(reason);
}

void RunCheckpoints::write(std::optional<double> top1) {
  run_.communicator.main.enter(dist::Phase::saving);
  run_.store.keep_copy(run_.reporter.history_file());
  const auto data = snapshot(run_.trainer, run_.position, run_.job, run_.classes);
  const auto entry =
      run_.store.save(run_.position.epoch, run_.position.step, top1,
                      [&](const CheckpointStore::Sink& sink) { write_checkpoint(data, sink); });
  run_.communicator.main.enter(dist::Phase::stepping);
  log::info(strf("saved %s (%.1f MB, %.2f s)", run_.store.path(entry).c_str(),
                 static_cast<double>(entry.bytes) / 1e6, now() - saved_at_));
}

std::optional<Exported> RunCheckpoints::export_weights() const {
  if (!run_.leader() || run_.job.export_dir.empty()) return std::nullopt;
  if (run_.position.step == 0 && run_.job.weights.empty()) {
    log::warning("no model is exported because nothing was trained yet");
    return std::nullopt;
  }
  return export_run(run_.job, run_.store, run_.position,
                    [&] { return snapshot(run_.trainer, run_.position, run_.job, run_.classes); });
}

}  // namespace shoal::train
