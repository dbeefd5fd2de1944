// shoal eval: measures the accuracy of a checkpoint or of weights.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "app/commands/commands.h"
#include "app/commands/session.h"
#include "app/commands/weights.h"
#include "base/log.h"
#include "ops/places.h"
#include "train/job/rank_loader_options.h"
#include "train/report/sinks.h"
#include "train/run/evaluate.h"

namespace shoal::app {
namespace {

void print(const Arguments& arguments, const train::EvaluationReport& report,
           const Weights& weights) {
  const train::Meter& sum = report.sum;
  if (arguments.json) {
    const nlohmann::ordered_json json = {{"acc1", sum.top1_percent()},
                                         {"acc5", sum.top5_percent()},
                                         {"loss", sum.mean_loss()},
                                         {"correct1", int64_t(sum.top1)},
                                         {"correct5", int64_t(sum.top5)},
                                         {"images", int64_t(sum.images)},
                                         {"unreadable", int64_t(sum.skipped)},
                                         {"seconds", report.seconds},
                                         {"ema", weights.ema},
                                         {"checkpoint", weights.file}};
    log::line(json.dump());
    return;
  }
  log::line(strf(" * Acc@1 %.3f Acc@5 %.3f", sum.top1_percent(), sum.top5_percent()));
  log::line(strf(
      "top-1 %.0f of %.0f, top-5 %.0f of %.0f, %.0f unreadable, loss %.4f, %.1f images/s", sum.top1,
      sum.images, sum.top5, sum.images, sum.skipped, sum.mean_loss(), sum.images / report.seconds));
}

}  // namespace

int eval_command(const Arguments& arguments) {
  const dist::Env env = dist::this_worker(dist::environment());
  begin(arguments.job, env);
  const train::Gpus gpus = train::claim_gpu(arguments.job, env.local_rank);
  dist::Communicator communicator = connect_ranks(
      arguments.job, gpus, env, std::make_shared<dist::Progress>(),
      [](const std::string& text) { fail_now(reporting(dist::environment()), kPeerLost, text); });
  Weights weights = open_weights(arguments, communicator.main);
  if (!weights.job.cache_dir) weights.job.cache_dir = "";  // eval has no --output folder
  const DataPlaces places = find_data(weights.job);
  take_held_out(weights.job, places, weights.val_split, env.rank == 0);
  const auto train = arguments.origins.find("train");
  const bool named = train != arguments.origins.end() && train->second == kCommandLine;
  if (weights.job.val_split == 0 && named)
    throw UserError(
        "--train has no effect in eval without --val-split; give the images with --val PATH");
  const Datasets datasets =
      open_datasets(weights.job, places, /*with_train=*/false, weights.classes, communicator);
  check_class_count(weights, datasets.val->classes().size(), "the data has");
  const train::ResolvedJob job = resolve_job(weights.job, gpus, datasets, communicator);
  data::Loader loader(datasets.val, train::rank_loader_options(job, env.rank, /*train=*/false),
                      log::warning, train::batch_memory(job));
  train::move_to(*weights.model, train::device_of(job));
  if (env.rank == 0) {
    log::info(weights.origin);
    if (job.model.classes < ops::kTop5) log::info(train::top5_note(job.model.classes));
  }
  int64_t batch = 0;
  const auto show = [&] {
    if (env.rank == 0)
      log::status(strf("evaluating: batch %lld of %lld", static_cast<long long>(++batch),
                       static_cast<long long>(loader.batches_per_epoch())));
    return true;
  };
  const auto report = train::evaluate(*weights.model, ops::Type::f32, loader, communicator.main,
                                      {.keep_going = show});
  log::status("");
  communicator.shutdown();
  if (env.rank == 0) print(arguments, report, weights);
  return 0;
}

}  // namespace shoal::app
