#include "app/commands.h"
#include "app/saved_settings.h"
#include "app/session.h"
#include "app/settings.h"
#include "app/signals.h"
#include "models/model.h"
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

// What was asked for, by whom, and what of it has no effect.
void tell(const Arguments& arguments) {
  std::string notes;
  for (const std::string& note : arguments.notes) notes += (notes.empty() ? "" : "\n") + note;
  if (!notes.empty()) train::log::warning(notes);
  train::log::info("settings asked for\n" + origins_text(arguments));
}

// Options that only streams of pictures obey, or only what is none.
void tell_useless(const Arguments& arguments, const train::ResolvedJob& job) {
  const bool streamed = job.train_streamed || job.train_whole_files;
  const auto warn = [](const char* option, const char* why) {
    train::log::warning(std::string("--") + option + " has no effect: the training pictures " +
                        why);
  };
  const auto named = [&](const char* option) { return arguments.origins.contains(option); };
  if (named("steps-per-epoch") && !job.train_streamed)
    warn("steps-per-epoch", "do not come through a pipe");
  if (named("shuffle-buffer") && !streamed)
    warn("shuffle-buffer", "neither come through a pipe nor are read with --forward-reads");
  if (!streamed) return;
  if (job.job.cache_bytes > 0) warn("cache", "are read from front to back");
  if (job.job.order == data::Order::chunked) warn("order", "are read from front to back");
}

// Programs whose defaults a recipe holds train on a last partial batch, so their batch is never too
// large for the data. Only a batch size that nobody but the recipe named is lowered.
void fit_batch(Arguments& arguments, int64_t images, const dist::Env& env) {
  train::Job& job = arguments.job;
  const auto origin = arguments.origins.find("batch-size");
  if (origin == arguments.origins.end() || !origin->second.starts_with("recipe ")) return;
  if (!job.batch_size || job.global_batch_size) return;
  const int64_t sharing = job.batch_per_host ? env.local_world_size : 1;
  const int64_t parts = env.world_size * job.accumulate, each = *job.batch_size / sharing;
  int64_t fitting = images / parts;
  if (fitting >= each || fitting == 0) return;
  if (fitting > 1) fitting -= fitting % 2;  // mixup pairs pictures
  job.batch_size = fitting * sharing;
  if (env.rank == 0)
    train::log::warning(
        train::strf("the batch of %s is lowered to %lld: there are only %lld training pictures",
                    origin->second.c_str(), static_cast<long long>(*job.batch_size),
                    static_cast<long long>(images)));
}

// Of the model that the run continues, or of weights that are only evaluated; a fresh run has the
// data's own.
std::vector<std::string> known_classes(const train::Start& start, const train::Job& job) {
  if (start.data) return start.data->classes;
  return start.weights && job.eval_only ? start.weights->classes : std::vector<std::string>();
}

}  // namespace

int train_command(const Arguments& given) {
  Arguments arguments = given;
  install_training_signals(arguments.job.on_platform);
  const dist::Env env = dist::this_worker(dist::environment());
  begin(arguments.job, env);
  const train::Gpus gpus = train::claim_gpu(arguments.job, env.local_rank);
  dist::Communicator communicator = connect_ranks(arguments.job, gpus, env);
  if (env.world_size > 1) training_begins();  // the others need a word when this one leaves
  check_health(arguments.job, communicator);
  train::Start start = train::find_start(arguments.job, communicator.main);
  if (start.data) take_saved_settings(arguments, start.data->settings, start.data->classes.size());
  models::describe(arguments.job.model);  // a name that is none is said before pictures are listed
  const Datasets datasets = open_datasets(arguments.job, !arguments.job.eval_only,
                                          known_classes(start, arguments.job), communicator);
  if (datasets.train) fit_batch(arguments, datasets.train->size(), env);
  train::ResolvedJob job = settle(arguments.job, gpus, datasets, communicator);
  job.index_dir = index_folder(arguments.job);
  if (env.rank == 0) {
    if (job.train_streamed || job.train_whole_files)
      train::log::info(
          std::string(job.train_streamed ? "the training pictures come through pipes"
                                         : "files of training pictures are read front to back") +
          ", so the number of processes decides which of them meet: another number is another run");
    tell(arguments);
    if (datasets.train) tell_useless(arguments, job);
    advise(arguments);
  }
  training_begins();
  const train::RunResult result =
      train::run(job, std::move(start), datasets.train, datasets.val, communicator);
  communicator.shutdown();
  if (result.stop_signal == 0 || job.job.on_platform) return 0;
  return 128 + result.stop_signal;
}

}  // namespace shoal::app
