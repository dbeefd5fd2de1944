#include "app/commands.h"
#include "app/saved_settings.h"
#include "app/session.h"
#include "app/signals.h"
#include "train/log.h"
#include "train/loop.h"

namespace shoal::app {

namespace {

// SGD's default rate ends an EfficientNet's training in the first epoch more often than not.
void advise(const Arguments& arguments) {
  const train::Job& job = arguments.job;
  const bool untouched = !arguments.origins.contains("lr") &&
                         !arguments.origins.contains("scale-lr") &&
                         !arguments.origins.contains("optimizer");
  if (untouched && !job.eval_only && job.model.name.starts_with("efficientnet"))
    train::log::warning(
        "EfficientNet often fails to learn with the default --optimizer sgd --lr 0.1; start from a "
        "recipe (`shoal train --recipe list`), or name --optimizer and --lr");
}

}  // namespace

int train_command(const Arguments& given) {
  Arguments arguments = given;
  install_training_signals();
  const dist::Env env = dist::this_worker(dist::environment());
  begin(arguments.job, env);
  dist::Communicator communicator = connect_ranks(arguments.job, env);
  train::Start start = train::find_start(arguments.job, communicator.main);
  if (start.data) take_saved_settings(arguments, start.data->settings, start.data->classes.size());
  const Datasets datasets = open_datasets(arguments.job, !arguments.job.eval_only);
  train::ResolvedJob job = settle(arguments.job, datasets, env);
  job.index_dir = index_folder(arguments.job);
  if (env.rank == 0) advise(arguments);
  const train::RunResult result =
      train::run(job, std::move(start), datasets.train, datasets.val, communicator);
  communicator.shutdown();
  if (result.stop_signal == 0 || job.job.on_platform) return 0;
  return 128 + result.stop_signal;
}

}  // namespace shoal::app
