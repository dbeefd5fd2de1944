// The training loop: epochs, evaluation, checkpoints, stopping. Trainer::step makes one step:
// batches → forward → loss → backward (which averages the gradients over ranks) → metrics of all
// ranks → commit of optimizer, statistics and averaged weights. Decisions that depend on time or
// signals use the control message that all ranks exchange once per step, so every rank makes the
// same decision at the same step.

#include "train/run/loop.h"

#include <c10/core/StreamGuard.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <optional>
#include <stdexcept>
#include <utility>

#include "base/log.h"
#include "base/now.h"
#include "dist/gather.h"
#include "models/functions.h"
#include "train/checkpoint/changed_settings.h"
#include "train/checkpoint/disk.h"
#include "train/checkpoint/resume.h"
#include "train/control/epoch_agreement.h"
#include "train/control/stop.h"
#include "train/job/rank_loader_options.h"
#include "train/run/data_hash.h"
#include "train/run/evaluate.h"
#include "train/run/non_finite.h"
#include "train/run/output_folder.h"
#include "train/run/run_evaluation.h"
#include "train/run/run_images.h"
#include "train/run/run_reports.h"
#include "train/run/step_control.h"
#include "train/step/device.h"
#include "train/step/kernels_name.h"

namespace shoal::train {
namespace {

using Images = std::shared_ptr<const data::Source>;

class Run {
 public:
  Run(const RunContext& run, const Images& train, const Images& val);
  ~Run() { run_.communicator.progress->name_reads({}); }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  RunResult train();
  RunResult evaluate_only();
  std::string rescue(const Ending& ending);
  void save_alone() noexcept;
  void report_failure(const std::string& reason) noexcept { reports_.fail(reason); }

 private:
  // The parts of an epoch. The first three return false if the run was stopped and saved.
  bool train_epoch();
  bool train_step(double start);
  bool evaluate();
  void end_epoch();
  void count_evaluation();

  void require_images(const std::exception_ptr& failure);
  bool continue_unless_stopped(int stop_signal, std::optional<int64_t> history_lines = {});

  const RunContext& run_;
  const ResolvedJob& job_;
  Position& position_;
  dist::ControlChannel control_;
  Recovery recovery_;
  RunCheckpoints checkpoints_;
  StepControl step_control_;
  EpochAgreement agreement_;
  data::Loader val_loader_;
  std::optional<data::Loader> train_loader_;  // empty with --eval-only
  RunReports reports_;
  RunResult result_;
  std::optional<int64_t> history_before_evaluation_;  // number of lines; set during evaluation
  std::optional<double> top1_;  // percent; result of evaluate(), for end_epoch()
};

Run::Run(const RunContext& run, const Images& train, const Images& val)
    : run_(run),
      job_(run.job),
      position_(run.position),
      control_(run.communicator.control),
      recovery_(run.job, run.trainer, run.store, run.communicator, run.reporter, run.position),
      checkpoints_(run, control_, recovery_),
      step_control_(run, control_, recovery_, checkpoints_),
      agreement_(run.job, run.communicator),
      val_loader_(val, rank_loader_options(run.job, run.communicator.rank(), false), log::warning,
                  batch_memory(run.job)),
      reports_(run, recovery_) {
  if (train)
    train_loader_.emplace(train, rank_loader_options(run.job, run.communicator.rank(), true),
                          log::warning, batch_memory(run.job));
}

RunResult Run::train() {
  const bool over = run_.steps_over() || run_.patience_over();
  if (over && !position_.evaluation_pending) reports_.nothing_left();
  if (!position_.pending.empty())
    recovery_.add_loss(std::exchange(position_.pending, {}), position_.step);
  if (job_.on_spike != OnSpike::rollback) position_.rollback_due = 0;
  if (position_.rollback_due > 0) recovery_.roll_back(position_.rollback_due);
  // If the previous process stopped after an epoch's last step and before its evaluation, this
  // process starts with that evaluation.
  while (position_.evaluation_pending || !(run_.steps_over() || run_.patience_over())) {
    if (!train_epoch() || !evaluate()) break;
    end_epoch();
  }
  checkpoints_.finish();
  if (!result_.stop_signal) require_finite_end(run_, result_.last_evaluation);
  RunEnd report = reports_.end(result_.stop_signal ? "stopped" : "complete");
  report.exported = checkpoints_.export_weights();
  checkpoints_.require_saved();
  run_.reporter.end(report);
  return result_;
}

RunResult Run::evaluate_only() {
  run_.name_reads(val_loader_);
  const RunEvaluation evaluation = evaluate_run(run_, control_, val_loader_);
  run_.reporter.end(reports_.end(evaluation.stop_signal ? "stopped" : "evaluated"));
  return {evaluation.stop_signal, evaluation.sum};
}

bool Run::train_epoch() {
  // If the run was resumed with a pending evaluation, this call makes no step.
  if (position_.epoch_over || position_.evaluation_pending)
    return continue_unless_stopped(step_control_.apply_last());
  const int64_t first_step = position_.step_in_epoch;
  const int64_t left = first_step + job_.last_step - position_.step;
  const int64_t steps = job_.open_ended ? left : std::min(job_.steps_per_epoch, left);
  run_.name_reads(*train_loader_);
  {
    const auto reading = run_.communicator.main.during(dist::Phase::reading);
    train_loader_->start_epoch(position_.epoch, first_step * job_.accumulate);
  }
  step_control_.begin_epoch();
  reports_.begin_epoch();
  while (position_.step_in_epoch < steps && !run_.steps_over()) {
    const double start = now();
    if (!agreement_.all_ranks_have_data(*train_loader_, position_.step_in_epoch)) {
      if (agreement_.stop_signal() != 0)
        return continue_unless_stopped(step_control_.apply_last(agreement_.stop_signal()));
      require_images(agreement_.failure());
      agreement_.report_end(*train_loader_, position_.epoch, position_.step_in_epoch);
      position_.epoch_over = position_.evaluation_pending = true;
      break;
    }
    if (!train_step(start)) return false;
  }
  if (!continue_unless_stopped(step_control_.apply_last())) return false;
  log_data_hash(job_, position_.epoch, first_step, train_loader_->stats().hash,
                run_.communicator.main);
  return true;
}

// `start`: the value of now() when this rank began to wait for the step's images.
bool Run::train_step(double start) {
  const double waited = now() - start;
  const double lr = learning_rate(job_, position_.step, run_.time.progress(position_.step));
  run_.trainer.set_epoch(position_.epoch);
  const bool skip = position_.step < position_.skip_until;
  const BatchSource batches = [this] { return train_loader_->next(); };
  StepResult step = skip ? run_.trainer.skip(batches)
                         : run_.trainer.step(batches, position_.step, lr,
                                             job_.progression.strength(position_.epoch));
  if (skip || !step.finite) require_images(step.loader_failure);
  position_.lr = lr;
  step.data_seconds += waited;
  position_.epoch_sum.add(step.meter);
  ++position_.step;
  ++position_.step_in_epoch;
  if (run_.time.used_up(position_.step)) position_.used_budget = job_.time_budget;
  position_.evaluation_pending = run_.epoch_or_run_over();
  reports_.step(step, now() - start);
  check_finite(run_, checkpoints_, step);
  checkpoints_.poll();
  return continue_unless_stopped(step_control_.exchange(step.meter, train_loader_->stats().bad));
}

// If a rank could not read its images, saves the state after the previous step and throws on all
// ranks. `failure`: this rank's exception, or null. Collective.
void Run::require_images(const std::exception_ptr& failure) {
  agreement_.require_images(failure, [this] { checkpoints_.save_before_failure(); });
}

// After a stop or failure in the evaluation, the resumed run repeats it. The checkpoint therefore
// stores the number of history lines before the evaluation, and --resume drops later lines.
bool Run::evaluate() {
  if (!run_.evaluation_due()) return true;
  run_.name_reads(val_loader_);
  history_before_evaluation_ = run_.reporter.history_lines();
  try {
    const RunEvaluation evaluation = evaluate_run(run_, control_, val_loader_);
    result_.last_evaluation = evaluation.sum;
    top1_ = evaluation.sum.top1_percent();
    return continue_unless_stopped(evaluation.stop_signal, history_before_evaluation_);
  } catch (const EvaluationFailed& error) {
    checkpoints_.save_and_fail(std::string(error.what()) + " and continue with --resume",
                               history_before_evaluation_);
  }
}

void Run::end_epoch() {
  const std::optional<double> top1 = std::exchange(top1_, std::nullopt);
  const bool closing = !run_.epoch_evaluation_due();
  position_.evaluation_pending = false;
  if (run_.epoch_complete()) {  // otherwise the run ends within the epoch
    ++position_.epoch;
    position_.step_in_epoch = 0;
    position_.epoch_over = false;
    position_.epoch_sum = {};
  }
  if (top1 && closing) position_.note_closing(*top1, history_before_evaluation_.value());
  if (top1 && !closing) position_.note_best(*top1);
  if (top1 && run_.patience_over()) reports_.early_stop();
  history_before_evaluation_.reset();
  if (top1) count_evaluation();
  checkpoints_.save(top1);
}

// Counts the time of the evaluation towards --time-budget. Collective.
void Run::count_evaluation() {
  if (job_.time_budget == 0) return;
  const auto mine = std::llround(1e3 * run_.time.trained(now()));
  const auto of_ranks = dist::gather_number(run_.communicator.main, mine);
  run_.time.arrived(position_.step, static_cast<double>(of_ranks[0]) / 1e3);
  if (run_.time.used_up(position_.step)) position_.used_budget = job_.time_budget;
}

// Returns true if `stop_signal` is 0. Otherwise saves a checkpoint for --resume and returns false.
// `history_lines`: as in RunCheckpoints::save().
bool Run::continue_unless_stopped(int stop_signal, std::optional<int64_t> history_lines) {
  if (stop_signal == 0) return true;
  if (position_.step > 0)
    log::info(strf("%s: saving the state after step %ld", stop_name(stop_signal), position_.step));
  checkpoints_.save(std::nullopt, history_lines);
  checkpoints_.require_saved();
  if (position_.step == 0)
    log::info(strf("stopped by %s before the first step; nothing to save", stop_name(stop_signal)));
  else
    log::info(strf("stopped by %s after step %ld; continue with --resume", stop_name(stop_signal),
                   position_.step));
  result_.stop_signal = stop_signal;
  return false;
}

// Saves the state on rank 0 while the main thread is frozen. Called by a thread of the watchdog
// (Watchdog::Rescue).
std::string Run::rescue(const Ending& ending) {
  // Uses another stream, because the default stream may wait forever for another rank.
  c10::OptionalStreamGuard stream;
  if (const at::Device device = run_.trainer.parameters().flat().device(); device.is_cuda())
    stream.reset_stream(models::other_stream(device));
  const std::string error = checkpoints_.save_alone(history_before_evaluation_);
  RunEnd report = reports_.end(ending.signal != 0 ? "stopped" : "failed");
  if (ending.signal == 0 || !error.empty()) report.reason = ending.text;
  try {
    if (ending.signal != 0) report.exported = checkpoints_.export_weights();
  } catch (const std::exception& failure) {
    log::warning(failure.what());
  }
  run_.reporter.end_failed(report);
  if (!error.empty()) throw std::runtime_error(error);
  if (position_.step == 0) return "no step was made; nothing to save";
  return strf("the state after step %ld is saved; continue with --resume", position_.step);
}

// Saves the state on rank 0 after an exception. Not collective, because the other ranks may still
// be running.
void Run::save_alone() noexcept {
  run_.communicator.main.enter(dist::Phase::updating);  // in this phase, the watchdog does not save
  if (run_.leader()) checkpoints_.save_alone(history_before_evaluation_);
}

}  // namespace

RunResult run(const ResolvedJob& job, Start start, std::shared_ptr<const data::Source> train,
              std::shared_ptr<const data::Source> val, dist::Communicator& communicator,
              const std::function<std::string(const std::exception&)>& describe,
              Watchdog* watchdog) {
  const bool leader = communicator.rank() == 0, trains = !job.eval_only;
  const std::vector<std::string> classes = val->classes();
  std::optional<OutputFolder> output;
  if (leader) output.emplace(job.output);
  CheckpointStore store = checkpoint_store(job.checkpoint_dir, job.keep);
  Trainer trainer(job, communicator);
  Position position = load_start(trainer, start, job, classes, leader);
  const bool changed =
      start.data && !changed_settings(start.data->settings, settings_without_effect(*start.data),
                                      /*within_epoch=*/false, job)
                         .empty();
  if (trains && !steps_over(position, job)) position.forget_closing();
  start.data.reset();  // frees the tensors
  start.weights.reset();
  // Checks the free space before the checkpoint folder changes.
  if (leader && trains)
    check_disk(disk_need(store, trainer.state_bytes(), job.keep), store.directory(), log::warning);
  if (leader && trains) open_checkpoints(job, start, position, store);
  Reporter reporter(job, communicator.rank(), position.history_lines);
  TimeBudget time(job.time_budget, position.trained_seconds, position.step_seconds, position.step,
                  now());
  BackgroundStore background(store, *communicator.progress, position.trusted_before());
  const RunContext context{job,      communicator, classes, background, trainer,
                           position, reporter,     time,    changed};
  Run run(context, train, val);
  const auto rescue = [&](const Ending& ending) { return run.rescue(ending); };
  const Watchdog::Rescuable rescuable(trains ? watchdog : nullptr, rescue);
  try {
    reporter.start({start.origin, classes, position.epoch, position.step, communicator.env.hosts,
                    rate_groups(trainer.parameters()), kernels_of(job)});
    return trains ? run.train() : run.evaluate_only();
  } catch (const std::exception& error) {
    if (trains) run.save_alone();
    run.report_failure(describe(error));
    throw;
  }
}

}  // namespace shoal::train
