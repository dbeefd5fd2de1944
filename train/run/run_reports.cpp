#include "train/run/run_reports.h"

#include "base/format/counted.h"
#include "base/log.h"
#include "train/run/run_images.h"

namespace shoal::train {

RunReports::RunReports(const RunContext& run, Recovery& recovery)
    : run_(run), recovery_(recovery), start_(now()) {}

void RunReports::begin_epoch() {
  if (run_.leader() && !run_.job.progression.sizes.empty())
    log::info(strf("epoch %ld: training images are %ld pixels high and wide", run_.position.epoch,
                   run_.job.progression.side(run_.position.epoch, 0)));
  pace_.begin_epoch();
  if (!run_.leader() || run_.job.tensorboard.empty() || run_.position.step > 0) return;
  run_.trainer.show_next_images(
      [&reporter = run_.reporter](const at::Tensor& images, const Normalization& normalization) {
        reporter.images(first_images(images, normalization, "train/images", 0));
      });
}

void RunReports::step(const StepResult& step, double seconds) {
  const Position& position = run_.position;
  recovery_.add_step_time(seconds);
  pace_.add(seconds, step.data_seconds, step.exchange_seconds);
  const int64_t histogram_steps = run_.job.histogram_steps;
  if (run_.leader() && histogram_steps > 0 && position.step % histogram_steps == 0 && step.finite)
    run_.reporter.histograms(position.step, histograms_of(run_.trainer.parameters()));
  const bool prints = position.step_in_epoch % run_.job.print_freq == 0 ||
                      position.step_in_epoch == 1 || run_.epoch_or_run_over();
  StepReport report;
  report.images_per_second = pace_.images_per_second(run_.job.global_batch_size);
  report.last = step.meter;
  run_.reporter.progress({position.epoch, position.step_in_epoch, position.step,
                          report.images_per_second, position.epoch_sum, run_.time.trained(now())});
  if (!prints) return;
  report.epoch = position.epoch;
  report.step_in_epoch = position.step_in_epoch;
  // If the epoch's length is unknown, reports the number of steps so far.
  report.steps_per_epoch = run_.job.open_ended ? position.step_in_epoch : run_.job.steps_per_epoch;
  report.step = position.step;
  pace_.fill(report);
  report.epoch_sum = position.epoch_sum;
  report.lr = position.lr;
  report.gradient_norm = step.gradient_norm;
  run_.reporter.step(report);
}

void RunReports::nothing_left() const {
  const Position& position = run_.position;
  std::string why;
  if (position.step >= run_.job.last_step)
    why = strf(
        "the checkpoint is at step %ld, and the run ends at step %ld; raise --epochs or "
        "--max-steps to continue",
        position.step, run_.job.last_step);
  else if (run_.steps_over())
    why = strf("the time budget of %g s is used up; raise --time-budget to continue",
               position.used_budget);
  else
    why = "no improvement in " + counted(position.evaluations_since_best, "evaluation") +
          "; raise --patience to continue";
  log::info("nothing left to train: " + why +
            (run_.changed_settings ? ". The changed settings have no effect" : ""));
}

void RunReports::early_stop() const {
  const Position& position = run_.position;
  if (run_.steps_over()) return;  // the run ends anyway
  const auto evaluations = position.evaluations_since_best;
  run_.reporter.event({"early_stop",
                       position.step,
                       {{"best_top1", position.best_top1.value_or(0)},
                        {"evaluations", static_cast<double>(evaluations)}}});
  log::info(
      strf("--patience %ld: the run ends after %s without an improvement on the best Acc@1, %.3f",
           run_.job.patience, counted(evaluations, "evaluation").c_str(),
           position.best_top1.value_or(0)));
}

void RunReports::fail(const std::string& reason) const noexcept {
  RunEnd report = end("failed");
  report.reason = reason;
  run_.reporter.end_failed(report);
}

RunEnd RunReports::end(const std::string& outcome) const {
  const Position& position = run_.position;
  RunEnd report;
  report.outcome = outcome;
  report.epoch = position.epoch;
  report.step = position.step;
  report.seconds = now() - start_;
  report.wait = pace_.total();
  if (position.best_top1)
    report.best = Evaluated{*position.best_top1, position.best_epoch, position.best_step};
  return report;
}

}  // namespace shoal::train
