#include "app/commands.h"
#include "app/session.h"
#include "app/signals.h"
#include "train/loop.h"

namespace shoal::app {

int train_command(const Arguments& arguments) {
  install_training_signals();
  const dist::Env env = dist::this_worker(dist::environment());
  begin(arguments.job, env);
  const Datasets datasets = open_datasets(arguments.job, !arguments.job.eval_only);
  const train::ResolvedJob job = settle(arguments.job, datasets, env);
  dist::Communicator communicator = connect_ranks(job, env);
  const train::RunResult result = train::run(job, datasets.train, datasets.val, communicator);
  communicator.shutdown();
  if (result.stop_signal == 0 || job.job.on_platform) return 0;
  return 128 + result.stop_signal;
}

}  // namespace shoal::app
