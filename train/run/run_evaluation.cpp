#include "train/run/run_evaluation.h"

#include <algorithm>

#include "train/control/stop.h"
#include "train/run/evaluate.h"

namespace shoal::train {
namespace {

// Evaluates the model's current weights and reports the result. `ema`: whether these are the
// averaged weights. Returns false if a stop signal ended the evaluation.
bool evaluate_weights(const RunContext& run, dist::ControlChannel& control, data::Loader& loader,
                      bool ema, RunEvaluation& result) {
  // Whether this can be the run's best evaluation. If the run averages weights, only evaluations of
  // the averaged weights can.
  const bool decides = ema == (run.trainer.ema() != nullptr);
  // A checkpoint from the end of epoch N stores N + 1, the epoch that a resumed run starts.
  // --eval-only reports N.
  const bool counted = run.job.eval_only && run.position.step_in_epoch == 0;
  const int64_t epoch = std::max<int64_t>(0, run.position.epoch - (counted ? 1 : 0));
  WorstPixels worst(run.job.transform);
  EvaluationHooks hooks;
  const bool shown = !run.job.eval_only || !run.job.tensorboard.empty();
  if (decides && shown) hooks.worst = &worst;
  hooks.print_freq = run.job.print_freq;
  if (!ema) {
    hooks.progress = [&](EvaluationProgress progress) {
      progress.epoch = epoch;
      progress.step = run.position.step;
      run.reporter.evaluation_progress(progress);
    };
  }
  hooks.keep_going = [&] {
    run.reporter.measure(epoch, run.position.step);
    result.stop_signal = control.collect().stop_signal;  // from the previous call of keep_going()
    if (result.stop_signal != 0) return false;
    dist::ControlMessage message;
    message.stop_signal = stop_signal();
    control.post(message);
    return true;
  };
  EvaluationReport report = evaluate(run.trainer.model(), run.trainer.compute_type(), loader,
                                     run.communicator.main, hooks);
  if (report.stopped) return false;
  control.collect();  // ignores a stop signal: the next message has it again
  report.epoch = epoch;
  report.step = run.position.step;
  report.finished_epochs = run.position.epoch + (run.epoch_complete() ? 1 : 0);
  report.ema = ema;
  report.best = decides && run.position.is_best(report.sum.top1_percent());
  run.reporter.evaluation(report);
  // Reports the worst images only for the best evaluation, to keep the event file small.
  if (report.best && !run.job.tensorboard.empty()) {
    ImageGrid grid = worst.grid(run.communicator.main, report, run.classes);
    grid.tag = ema ? "valid_ema/worst" : "valid/worst";
    grid.step = report.step;
    if (run.leader()) run.reporter.images(grid);
  }
  result.sum = report.sum;
  return true;
}

}  // namespace

RunEvaluation evaluate_run(const RunContext& run, dist::ControlChannel& control,
                           data::Loader& loader) {
  RunEvaluation result;
  if (!evaluate_weights(run, control, loader, /*ema=*/false, result)) return result;
  const Ema* const ema = run.trainer.ema();
  if (!ema) return result;
  run.trainer.swap_ema();
  try {
    evaluate_weights(run, control, loader, /*ema=*/true, result);
  } catch (...) {
    run.trainer.swap_ema();  // restores the weights: the caller may save a checkpoint
    throw;
  }
  run.trainer.swap_ema();
  return result;
}

}  // namespace shoal::train
