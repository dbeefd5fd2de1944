#include "train/trial/dry_run.h"

#include <algorithm>
#include <stdexcept>

#include "base/log.h"
#include "base/now.h"
#include "data/loader/loader.h"
#include "dist/gather.h"
#include "train/checkpoint/resume.h"
#include "train/control/epoch_agreement.h"
#include "train/control/time_budget.h"
#include "train/job/rank_loader_options.h"
#include "train/report/sinks.h"
#include "train/run/evaluate.h"
#include "train/step/device.h"
#include "train/step/kernels_name.h"
#include "train/step/trainer.h"
#include "train/trial/peak_memory.h"

namespace shoal::train {
namespace {

// Returns the largest value over all ranks. Collective.
int64_t largest(const dist::Group& group, int64_t here) {
  return std::ranges::max(dist::gather_number(group, here));
}

// Checks the disk space on rank 0, and runs the first step. Collective.
void try_training(const ResolvedJob& job, const std::shared_ptr<const data::Source>& train,
                  const Position& position, Trainer& trainer, dist::Communicator& communicator,
                  DryRun& result) {
  const int rank = communicator.rank();
  const CheckpointStore store(job.checkpoint_dir, job.keep);
  result.disk = disk_need(store, trainer.state_bytes(), job.keep);
  if (rank == 0) check_disk(result.disk, store.directory(), log::warning);
  data::Loader loader(train, rank_loader_options(job, rank, true), log::warning, batch_memory(job));
  const bool epoch_complete = position.step_in_epoch >= job.steps_per_epoch;
  loader.start_epoch(position.epoch, epoch_complete ? 0 : position.step_in_epoch * job.accumulate);
  const double start = now();
  const TimeBudget time(job.time_budget, position.trained_seconds, position.step_seconds,
                        position.step, start);
  const double lr = learning_rate(job, position.step, time.progress(position.step));
  trainer.set_epoch(position.epoch);
  const StepResult step = trainer.step([&] { return loader.next(); }, position.step, lr,
                                       job.progression.strength(position.epoch));
  result.step_seconds = now() - start;
  result.step = step.meter;
  EpochAgreement(job, communicator).require_images(step.loader_failure);
  if (!step.finite)
    throw std::runtime_error(
        strf("the loss or gradient of the first step is not finite (gradient norm %g); lower --lr, "
             "set --clip, or check the data",
             step.gradient_norm));
}

}  // namespace

DryRun dry_run(const ResolvedJob& job, const Start& start,
               std::shared_ptr<const data::Source> train, std::shared_ptr<const data::Source> val,
               dist::Communicator& communicator) {
  if (job.train_streamed || val->access() == data::Access::pipe)
    throw UserError(
        "--dry-run does not work with pipes: the images that it reads would be missing in the run. "
        "Use images in files");
  log::info_lines(start_block(job, start.origin, kernels_of(job)) + "\n" +
                  settings_block(job, /*all=*/false));
  DryRun result;
  Trainer trainer(job, communicator);
  const int rank = communicator.rank();
  const Position position = load_start(trainer, start, job, val->classes(), rank == 0);
  if (train) try_training(job, train, position, trainer, communicator, result);
  data::Loader val_loader(val, rank_loader_options(job, rank, false), log::warning,
                          batch_memory(job));
  val_loader.start_epoch(0);
  if (const data::Batch* batch = val_loader.next())
    result.evaluation = evaluate_batch(trainer.model(), trainer.compute_type(), *batch).meter;
  reduce(communicator.main, {&result.evaluation});
  result.peak_bytes = largest(communicator.main, peak_memory());
  result.peak_gpu_bytes = largest(communicator.main, peak_gpu_memory(job));
  return result;
}

}  // namespace shoal::train
