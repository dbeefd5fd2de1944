#include "app/commands/evaluation.h"

#include "app/commands/session.h"
#include "app/platform/failure.h"
#include "base/log.h"
#include "train/job/rank_loader_options.h"

namespace shoal::app {

Evaluation::Evaluation(const Arguments& arguments, const dist::Env& env)
    : arguments_(arguments),
      gpus_(train::claim_gpu(arguments.job, env.local_rank)),
      communicator_(connect_ranks(arguments.job, gpus_, env, std::make_shared<dist::Progress>(),
                                  [](const std::string& text) {
                                    fail_now(reporting(dist::environment()), kPeerLost, text);
                                  })) {}

void Evaluation::open(const Weights& weights) {
  train::Job job = weights.job;
  if (!job.cache_dir) job.cache_dir = "";  // there is no --output folder
  const DataPlaces places = find_data(job);
  const int rank = communicator_.rank();
  take_held_out(job, places, weights.val_split, rank == 0);
  const auto train = arguments_.origins.find("train");
  const bool named = train != arguments_.origins.end() && train->second == kCommandLine;
  if (job.val_split == 0 && named)
    throw UserError(
        "--train has no effect in eval without --val-split; give the images with --val PATH");
  datasets_ = open_datasets(job, places, /*with_train=*/false, weights.classes, communicator_);
  check_class_count(weights, datasets_.val->classes().size(), "the data has");
  job_ = resolve_job(job, gpus_, datasets_, communicator_);
  loader_ = std::make_unique<data::Loader>(datasets_.val,
                                           train::rank_loader_options(job_, rank, /*train=*/false),
                                           log::warning, train::batch_memory(job_));
}

train::EvaluationReport Evaluation::run(models::Classifier& model) {
  train::move_to(model, train::device_of(job_));
  int64_t batch = 0;
  const auto show = [&] {
    if (communicator_.rank() == 0)
      log::status(strf("evaluating: batch %lld of %lld", static_cast<long long>(++batch),
                       static_cast<long long>(loader_->batches_per_epoch())));
    return true;
  };
  const auto report =
      train::evaluate(model, ops::Type::f32, *loader_, communicator_.main, {.keep_going = show});
  log::status("");
  return report;
}

}  // namespace shoal::app
