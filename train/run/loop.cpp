// An update is: batches → forward → loss → backward (gradients are averaged over ranks while it
// runs) → optimizer, statistics and averaged weights commit together → metrics. Trainer::step
// holds that; this file holds what is around it: epochs, the word that all ranks exchange once per
// update, reports, evaluation, checkpoints, stopping. Whatever depends on time or signals is
// decided by that word, so every rank decides alike at the same update.

#include "train/run/loop.h"

#include <signal.h>

#include <cmath>
#include <filesystem>
#include <stdexcept>

#include "base/log.h"
#include "data/loader/loader.h"
#include "dist/control_message.h"
#include "train/checkpoint/checkpoint_store.h"
#include "train/checkpoint/disk.h"
#include "train/checkpoint/export.h"
#include "train/checkpoint/resume.h"
#include "train/control/epoch_agreement.h"
#include "train/control/recovery.h"
#include "train/control/stop.h"
#include "train/control/unreadable_images.h"
#include "train/run/data_hash.h"
#include "train/run/evaluate.h"
#include "train/run/pace.h"
#include "train/step/device.h"
#include "train/step/trainer.h"

namespace shoal::train {
namespace {

class Run {
 public:
  Run(const ResolvedJob& job, Start start, std::shared_ptr<const data::Source> train,
      std::shared_ptr<const data::Source> val, dist::Communicator& communicator)
      : job_(job),
        communicator_(communicator),
        classes_(val->classes()),
        store_(job.checkpoint_dir, job.keep),
        start_(std::move(start)),
        output_lock_(communicator.rank() == 0 ? lock(job.output) : FileLock()),
        trainer_(job, communicator),
        position_(restored()),
        reporter_(job, communicator.rank(), position_.history_lines),
        recovery_(job, trainer_, store_, communicator, reporter_, position_),
        control_(communicator.control),
        supply_(job, communicator),
        val_loader_(val, share_options(job, communicator.rank(), false), log::warning,
                    batch_memory(job)),
        unreadable_images_(job) {
    if (train)
      train_loader_.emplace(train, share_options(job, communicator.rank(), true), log::warning,
                            batch_memory(job));
    if (!leader() || job.eval_only) return;
    store_.open_for_writing();
    store_.set_aside_after(position_.epoch, position_.step, log::warning);
    if (!job.export_dir.empty()) open_export_folder(job.export_dir);
  }

  RunResult all();
  void failed(const std::string& reason) noexcept;  // ends the record of a run that throws

 private:
  static FileLock lock(const std::string& folder);
  bool leader() const { return communicator_.rank() == 0; }
  Position restored();
  bool train_epoch();  // false: stopped
  bool act(const dist::ControlMessage& word, int64_t step);
  void post(dist::ControlMessage word, const Meter& meter);
  bool hear_last(int signal = 0);
  dist::ControlMessage word_now();
  [[noreturn]] void save_and_fail(const std::string& reason);
  void report(const StepResult& step, double lr, double step_seconds);
  bool epoch_ends() const { return epoch_is_through() || position_.step == job_.last_step; }
  bool epoch_is_through() const {
    const bool promised = !job_.open_ended && position_.step_in_epoch == job_.steps_per_epoch;
    return promised || position_.epoch_over;
  }
  void check_finite(const StepResult& step, double lr);
  bool evaluate_all();  // false: stopped
  bool evaluate_once(bool ema);
  bool go_on();
  void stop(int signal);
  void gather(Meter* last);
  void save(std::optional<double> top1);
  std::optional<Exported> export_finished();
  Ending ending(const std::string& outcome) const;

  const ResolvedJob& job_;
  dist::Communicator& communicator_;
  std::vector<std::string> classes_;
  CheckpointStore store_;
  Start start_;
  FileLock output_lock_;  // of rank 0
  Trainer trainer_;
  Position position_;
  Reporter reporter_;
  Recovery recovery_;
  dist::ControlChannel control_;
  Meter posted_;  // of this rank, in the word that is under way
  Supply supply_;
  Meter unreduced_;  // of this rank, since position_.epoch_sum was last brought up to date
  int stop_in_evaluation_ = 0;
  std::optional<int64_t> history_before_evaluation_;  // set when it is broken off
  data::Loader val_loader_;
  std::optional<data::Loader> train_loader_;

  RunResult result_;
  Pace pace_;
  UnreadableImages unreadable_images_;
  double run_start_ = now(), saved_at_ = now();
};

FileLock Run::lock(const std::string& folder) {
  std::error_code error;  // a folder that cannot be made is the reporter's to name
  std::filesystem::create_directories(folder, error);
  return {std::filesystem::path(folder) / ".lock", folder, "--output"};
}

Position Run::restored() {
  const Position position = load_start(trainer_, start_, job_, classes_, leader());
  // Before anything on the disk is changed.
  if (leader() && !job_.eval_only)
    check_disk(disk_need(store_, trainer_.state_bytes(), job_.keep), store_.directory(),
               log::warning);
  start_.data.reset();
  start_.weights.reset();
  return position;
}

RunResult Run::all() {
  reporter_.write_classes(classes_);
  reporter_.start(start_.origin);
  if (job_.eval_only) {
    if (!evaluate_all()) result_.stop_signal = stop_in_evaluation_;
    reporter_.finish(ending("evaluated"));
    return result_;
  }
  if (position_.step >= job_.last_step)
    log::info(
        strf("nothing left to train: the checkpoint is at update %lld, the run is complete at %lld",
             static_cast<long long>(position_.step), static_cast<long long>(job_.last_step)));
  // What the ranks had yet to tell one another when the state was saved.
  if (!position_.pending.empty()) post({}, leader() ? position_.pending : Meter{});
  // A run stopped between an epoch's last update and its evaluation continues with the evaluation.
  while (position_.step < job_.last_step || position_.evaluation_pending) {
    if (!train_epoch() || !evaluate_all()) break;
    const double top1 = result_.last_evaluation.top1_percent();
    position_.evaluation_pending = false;
    gather(nullptr);
    if (epoch_is_through()) {  // else --max-steps ended the run in it
      ++position_.epoch;
      position_.step_in_epoch = 0;
      position_.epoch_over = false;
      position_.epoch_sum = {};
    }
    position_.note_best(top1);
    save(top1);
  }
  Ending end = ending(result_.stop_signal ? "stopped" : "complete");
  end.exported = export_finished();
  reporter_.finish(end);
  return result_;
}

Ending Run::ending(const std::string& outcome) const {
  Ending end;
  end.outcome = outcome;
  end.epoch = position_.epoch;
  end.step = position_.step;
  end.seconds = now() - run_start_;
  end.wait = pace_.whole();
  if (position_.best_top1)
    end.best = Evaluated{*position_.best_top1, position_.best_epoch, position_.best_step};
  return end;
}

void Run::failed(const std::string& reason) noexcept {
  Ending end = ending("failed");
  end.reason = reason;
  reporter_.fail(end);
}

bool Run::train_epoch() {
  // Resumed between an epoch's last update and its evaluation.
  if (position_.epoch_over || position_.evaluation_pending) return hear_last();
  const int64_t left = position_.step_in_epoch + job_.last_step - position_.step;
  const int64_t steps = job_.open_ended ? left : std::min(job_.steps_per_epoch, left);
  const int64_t first = position_.step_in_epoch;
  train_loader_->start_epoch(position_.epoch, first * job_.accumulate);
  if (leader() && !job_.progression.sizes.empty())
    log::info(strf("epoch %lld: training images of %lld pixels",
                   static_cast<long long>(position_.epoch),
                   static_cast<long long>(job_.progression.side(position_.epoch, 0))));
  unreadable_images_.begin_epoch();
  pace_.begin_epoch();
  while (position_.step_in_epoch < steps) {
    const double start = now();
    if (!supply_.lasts(*train_loader_, position_.step_in_epoch)) {
      if (supply_.stop_signal() != 0) return hear_last(supply_.stop_signal());
      supply_.tell_end(*train_loader_, position_.epoch, position_.step_in_epoch);
      position_.epoch_over = position_.evaluation_pending = true;
      break;
    }
    const double waited = now() - start;
    const double lr =
        learning_rate(job_.schedule, position_.step, job_.steps_per_epoch, job_.total_steps);
    StepResult step = position_.step < position_.skip_until
                          ? trainer_.skip(*train_loader_)
                          : trainer_.step(*train_loader_, position_.step, lr,
                                          job_.progression.strength(position_.epoch));
    step.data_seconds += waited;
    position_.lr = lr;
    ++position_.step;
    ++position_.step_in_epoch;
    position_.evaluation_pending = epoch_ends();
    unreduced_.add(step.meter);
    report(step, lr, now() - start);
    check_finite(step, lr);
    const dist::ControlMessage word =
        control_.collect();  // of the update before: it has long arrived
    post(word_now(), step.meter);
    if (!act(word, position_.step - 1)) return false;
  }
  if (!hear_last()) return false;
  log_data_hash(job_, position_.epoch, first, train_loader_->stats().hash, communicator_.main);
  return true;
}

// What the ranks said at the last update; or a stop that came while they waited for images.
bool Run::hear_last(int signal) {
  dist::ControlMessage word = control_.collect();
  posted_ = {};
  if (signal != 0) word.stop_signal = signal;
  return act(word, position_.step);
}

dist::ControlMessage Run::word_now() {
  dist::ControlMessage word;
  word.stop_signal = stop_signal();
  word.checkpoint_requested = take_checkpoint_request();
  if (leader() && job_.checkpoint_minutes > 0 && now() - saved_at_ > 60 * job_.checkpoint_minutes) {
    word.checkpoint_requested = true;
  }
  word.unreadable_images = unreadable_images_.fresh(train_loader_->stats().bad);
  return word;
}

void Run::post(dist::ControlMessage word, const Meter& meter) {
  word.images = static_cast<int64_t>(meter.images);
  word.loss_sum = meter.loss;
  posted_ = meter;
  control_.post(word);
}

// Does what all ranks have agreed on: they said it when they had done update `step`. False: stop.
bool Run::act(const dist::ControlMessage& word, int64_t step) {
  const std::string too_bad =
      unreadable_images_.heard(word.unreadable_images, position_.step_in_epoch);
  if (!too_bad.empty()) save_and_fail(too_bad);
  const bool spiked = recovery_.heard(word, step);
  if (word.stop_signal != 0) {
    control_.collect();  // what was posted since: nobody waits for it later
    stop(word.stop_signal);
    return false;
  }
  const bool due = job_.checkpoint_steps > 0 && position_.step % job_.checkpoint_steps == 0;
  if ((due || spiked || word.checkpoint_requested) && !epoch_ends())
    save(std::nullopt);  // the epoch's end saves anyway
  return true;
}

// For what all ranks know: nothing of the work is lost.
void Run::save_and_fail(const std::string& reason) {
  control_.collect();  // what was posted since: nobody waits for it later
  save(std::nullopt);
  throw std::runtime_error(reason);
}

// Saves and notes the signal; the caller leaves its loop.
void Run::stop(int signal) {
  save(std::nullopt);
  log::info(strf("stopped by %s after update %lld; continue with --resume",
                 signal == SIGTERM ? "SIGTERM" : "SIGINT", static_cast<long long>(position_.step)));
  result_.stop_signal = signal;
}

// Brings position_.epoch_sum up to date over all ranks; and `last`, one update's, with it.
void Run::gather(Meter* last) {
  Meter none;
  reduce(communicator_.main, {last ? last : &none, &unreduced_});
  position_.epoch_sum.add(unreduced_);
  unreduced_ = {};
}

void Run::check_finite(const StepResult& step, double lr) {
  if (step.finite) {
    position_.non_finite_in_a_row = 0;
    return;
  }
  ++position_.non_finite;
  reporter_.event("nonfinite", position_.step, {{"updates", 1}});
  if (++position_.non_finite_in_a_row < job_.non_finite_limit) return;
  save(std::nullopt);
  throw std::runtime_error(strf(
      "loss or gradient was not finite in %lld updates in a row, up to update %lld (learning rate "
      "%g, gradient norm %g); the last good state is saved in %s. Lower --lr, set --clip, or look "
      "at the data",
      static_cast<long long>(position_.non_finite_in_a_row), static_cast<long long>(position_.step),
      lr, step.gradient_norm, store_.directory().c_str()));
}

void Run::report(const StepResult& step, double lr, double step_seconds) {
  recovery_.took(step_seconds);
  pace_.add(step_seconds, step.data_seconds);
  const double speed = pace_.images_per_second(job_.global_batch_size);
  const bool prints = position_.step_in_epoch % job_.print_freq == 0 ||
                      position_.step_in_epoch == 1 || epoch_ends();
  Meter last = step.meter;
  if (prints) gather(&last);
  // Of all ranks, as the last metric line: other ranks' steps since then are not known here.
  reporter_.progress(position_, speed, position_.epoch_sum);
  if (!prints) return;
  StepReport r;
  r.epoch = position_.epoch;
  r.step_in_epoch = position_.step_in_epoch;
  r.steps_per_epoch = job_.steps_per_epoch;
  r.step = position_.step;
  pace_.report(r);
  r.last = last;
  r.epoch_sum = position_.epoch_sum;
  r.lr = lr;
  r.images_per_second = speed;
  r.gradient_norm = step.gradient_norm;
  reporter_.step(r);
}

// Before each batch of an evaluation: whether any rank has been told to stop by the batch before.
bool Run::go_on() {
  stop_in_evaluation_ = control_.collect().stop_signal;
  if (stop_in_evaluation_ != 0) return false;
  dist::ControlMessage word;
  word.stop_signal = stop_signal();
  control_.post(word);
  return true;
}

bool Run::evaluate_once(bool ema) {
  reporter_.begin_evaluation(position_.epoch, position_.step);
  auto report = evaluate(trainer_.model(), trainer_.compute_type(), val_loader_, communicator_.main,
                         job_.print_freq, ema ? nullptr : &reporter_, [&] { return go_on(); });
  if (report.stopped) return false;
  control_.collect();  // the last batch's; the next update asks again
  report.epoch = position_.epoch;
  report.step = position_.step;
  report.ema = ema;
  reporter_.evaluation(report);
  result_.last_evaluation = report.sum;  // the averaged weights come second, and count
  return true;
}

// A stop breaks it off: the state is saved as it was before, and resuming evaluates again.
bool Run::evaluate_all() {
  const int64_t lines = reporter_.history_lines();
  bool done = false;
  try {
    done = evaluate_once(false);
  } catch (const TooManyUnreadable& error) {
    if (job_.eval_only) throw;
    history_before_evaluation_ = lines;
    save_and_fail(std::string(error.what()) + " and continue with --resume");
  }
  if (done && trainer_.ema()) {
    trainer_.ema()->swap();
    done = evaluate_once(true);
    trainer_.ema()->swap();
  }
  if (done || job_.eval_only) return done;
  history_before_evaluation_ = lines;
  stop(stop_in_evaluation_);
  return false;
}

void Run::save(std::optional<double> top1) {
  saved_at_ = now();
  position_.losses = recovery_.losses();
  position_.pending = posted_;
  gather(&position_.pending);
  if (!leader()) return;
  communicator_.main.enter(dist::Phase::saving);
  position_.history_lines = history_before_evaluation_.value_or(reporter_.history_lines());
  store_.keep_copy(reporter_.history_file());
  const auto data = snapshot(trainer_, position_, job_, classes_);
  const auto entry =
      store_.save(position_.epoch, position_.step, top1,
                  [&](const CheckpointStore::Sink& sink) { write_checkpoint(data, sink); });
  communicator_.main.enter(dist::Phase::stepping);
  log::info(strf("saved %s (%.1f MB, %.2f s)", store_.path(entry).c_str(),
                 static_cast<double>(entry.bytes) / 1e6, now() - saved_at_));
}

// Also exports after a stop.
std::optional<Exported> Run::export_finished() {
  if (!leader() || job_.export_dir.empty()) return std::nullopt;
  if (position_.step == 0 && job_.weights.empty()) {
    log::warning("nothing was trained yet, so no model is exported");
    return std::nullopt;
  }
  return export_run(job_, store_, position_,
                    [&] { return snapshot(trainer_, position_, job_, classes_); });
}

}  // namespace

RunResult run(const ResolvedJob& job, Start start, std::shared_ptr<const data::Source> train,
              std::shared_ptr<const data::Source> val, dist::Communicator& communicator,
              const std::function<std::string(const std::exception&)>& describe) {
  Run run(job, std::move(start), std::move(train), std::move(val), communicator);
  try {
    return run.all();
  } catch (const std::exception& error) {
    run.failed(describe(error));
    throw;
  }
}

}  // namespace shoal::train
