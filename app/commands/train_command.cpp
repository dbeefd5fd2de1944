#include <c10/util/Exception.h>
#include <torch/version.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "app/commands/commands.h"
#include "app/commands/inputs/agreement.h"
#include "app/commands/inputs/weights.h"
#include "app/commands/run_folders.h"
#include "app/commands/session.h"
#include "app/commands/train_messages.h"
#include "app/launch/provenance.h"
#include "app/options/no_effect.h"
#include "app/options/settings/implied_settings.h"
#include "app/options/settings/saved_settings.h"
#include "app/platform/failure.h"
#include "app/platform/signals.h"
#include "app/report/report.h"
#include "app/weights/fetch.h"
#include "base/file/folder.h"
#include "base/log.h"
#include "models/catalogue.h"
#include "train/control/stop.h"
#include "train/report/sinks.h"
#include "train/run/loop.h"
#include "train/trial/dry_run.h"
#include "train/weights/preprocessing.h"

namespace shoal::app {

namespace {

// Lowers a batch size that comes from a recipe if the global batch is larger than the dataset. The
// programs that the recipes imitate also train on a partial batch. shoal drops partial batches, so
// it would have no batch at all. Collective.
void fit_batch(Arguments& arguments, const data::Source& train,
               const dist::Communicator& communicator) {
  train::Job& job = arguments.job;
  const dist::Env& env = communicator.env;
  const auto origin = arguments.origins.find("batch-size");
  if (origin == arguments.origins.end() || !origin->second.starts_with(kRecipeOrigin)) return;
  if (!job.batch_size || job.global_batch_size) return;
  int64_t images = train.size();
  if (train::is_sharded(job, "train"))  // each host uses as many images as the smallest share
    images = count_shares(train, communicator).smallest * (env.world_size / env.local_world_size);
  const int64_t sharing = job.batch_per_host ? env.local_world_size : 1;
  const int64_t parts = env.world_size * job.accumulate * job.mix.images_per_row();
  const int64_t each = *job.batch_size / sharing;
  int64_t fitting = images / parts;
  if (fitting >= each || fitting == 0) return;
  if (fitting > 1) fitting -= fitting % 2;  // mixup needs pairs of images
  job.batch_size = fitting * sharing;
  if (env.rank == 0)
    log::warning(strf("lowered the batch size of %s to %ld: there are only %ld training images",
                      origin->second.c_str(), *job.batch_size, images));
}

// Returns the classes of the checkpoint to resume or of the weights to evaluate; empty for a new
// run, which uses the dataset's classes.
std::vector<std::string> known_classes(const train::Start& start, const train::Job& job) {
  if (start.data) return start.data->classes;
  return start.weights && job.eval_only ? start.weights->classes : std::vector<std::string>();
}

// Returns the error message of a failed run, for summary.json.
std::string reason_of(const std::exception& error) {
  if (dynamic_cast<const c10::Error*>(&error)) return torch_sentence(error.what());
  const std::string text = app::describe(error);
  return is_lost_peer(error) ? "another process failed first (see its output): " + text : text;
}

// Reports why this process must end, and ends it. Called by the watchdog's thread.
[[noreturn]] void end_process(const train::Ending& ending, bool on_platform) {
  const Reporting how = reporting(dist::environment());
  if (ending.cause == train::Ending::Cause::not_saved) fail_now(how, kFailure, ending.text);
  if (ending.cause == train::Ending::Cause::lost_peer) fail_now(how, kPeerLost, ending.text);
  log::status("");
  log::warning(ending.text);
  ::_exit(on_platform ? 0 : 128 + ending.signal);
}

// Runs the training. Returns the signal that stopped it, or 0.
int run_training(const train::ResolvedJob& job, train::Start start, const Datasets& datasets,
                 dist::Communicator& communicator,
                 const std::function<std::string(const std::exception&)>& describe,
                 train::Watchdog& watchdog) {
  const int signal = train::run(job, std::move(start), datasets.train, datasets.val, communicator,
                                describe, &watchdog)
                         .stop_signal;
  communicator.shutdown();
  return signal;
}

// Writes OUTPUT/report.html. Only warns if that fails, because the run itself has already ended.
void write_run_report(const std::string& output) noexcept {
  const std::filesystem::path file = std::filesystem::path(output) / kReportFile;
  try {
    write_report({output}, file);
    log::info("report: " + file.string());
  } catch (const std::exception& error) {
    log::warning("cannot write " + file.string() + ": " + error.what());
  }
}

// Calls run_training(). Then, if `reports` is set, writes the report, also if the run failed.
// Writes no report if the run was refused before it started, for example because another run uses
// the folder.
int train_with_report(const train::ResolvedJob& job, train::Start start, const Datasets& datasets,
                      dist::Communicator& communicator, train::Watchdog& watchdog, bool reports) {
  bool started = false;
  const auto reason = [&started](const std::exception& error) {
    started = true;
    return reason_of(error);
  };
  int signal = 0;
  try {
    signal = run_training(job, std::move(start), datasets, communicator, reason, watchdog);
  } catch (...) {
    if (reports && started) write_run_report(job.output);
    throw;
  }
  const std::filesystem::path summary = std::filesystem::path(job.output) / train::kSummaryFile;
  if (reports && (!job.eval_only || path_exists(summary))) write_run_report(job.output);
  return signal;
}

// With --resume: checks option values after the checkpoint's settings are restored.
void check_restored(const train::Job& job, const train::Start& start) {
  try {
    train::check_values(job);
  } catch (const UserError& error) {
    if (!start.data) throw;
    throw UserError(std::string(error.what()) +
                    " (--resume also applies the checkpoint's settings; to turn one off, pass "
                    "--NAME none or --NAME 0)");
  }
  if (!start.data && !job.eval_only) train::require_start_weights(job);
}

// Warns if --weights is another program's file that does not match the digest in its name.
void check_digest(const std::string& file, const train::CheckpointData& weights) {
  if (weights.is_ours()) return;
  if (const std::string note = wrong_digest_note(file); !note.empty())
    log::warning("--weights " + file + ": " + note);
}

// Sets --model to the network of the weights, unless the user or the weights' name has set it.
void take_model(Arguments& arguments, const train::Start& start, bool leader) {
  if (is_chosen(arguments, "model")) return;
  const std::string name =
      network_of(*start.weights, start.weights_file, arguments.job.load_partial);
  if (name.empty()) return;
  take_network(arguments, name);
  if (leader) log::info("model " + name + ": the network of " + start.weights_file);
}

// Removes --weights and notes that it has no effect, because the checkpoint contains the weights.
// Unless --eval-only is given, take_saved_settings() then restores the --weights that the run
// started from.
void drop_weights(Arguments& arguments) {
  const Option& weights = require_option(arguments.command, "weights", kCommandLine);
  const train::ResolvedJob run;
  if (std::string line = no_effect_of(weights, {arguments, run, true}); !line.empty())
    arguments.ineffective.push_back(std::move(line));
  arguments.job.weights.clear();
  arguments.origins.erase("weights");
}

// Takes the preprocessing from an exported file. Such a file contains no settings.
void take_exported(Arguments& arguments, const train::CheckpointData& weights) {
  if (!weights.settings.empty() || !weights.text.contains("channels")) return;
  train::take_preprocessing(weights, arguments.job);
}

// Runs the command after the ranks are connected. Returns the signal that stopped it, or 0.
// Collective.
int train_connected(Arguments& arguments, const train::Gpus& gpus, dist::Communicator& communicator,
                    train::Watchdog& watchdog) {
  const dist::Env& env = communicator.env;
  const bool dry = arguments.job.dry_run;
  const DataPlaces places = find_data(arguments.job);
  check_data_exists(arguments.job, places);  // after connecting: each host reports missing data
  check_run_folders(arguments.job, places, communicator.main);
  check_health(arguments.job, communicator);
  train::Start start =
      train::find_start(arguments.job, communicator.main, weights_finder(arguments));
  // On SageMaker, a restarted job continues from its own checkpoints instead of --resume PATH.
  const train::CheckpointStore own(train::checkpoint_directory(arguments.job), arguments.job.keep);
  if (arguments.job.on_platform && !start.file.empty() &&
      std::filesystem::path(start.file).parent_path() == own.directory()) {
    arguments.job.resume_path.clear();
    arguments.job.resume = true;
  }
  if (start.data) drop_weights(arguments);
  if (start.data) take_saved_settings(arguments, start.data->settings, start.data->classes.size());
  if (start.weights && env.rank == 0) check_digest(arguments.job.weights, *start.weights);
  if (start.weights) take_model(arguments, start, env.rank == 0);
  if (start.weights) train::take_normalization(*start.weights, arguments.job);
  if (start.weights && arguments.job.eval_only) {
    take_saved_settings(arguments, start.weights->settings, start.weights->classes.size());
    take_exported(arguments, *start.weights);
    arguments.job.ema.reset();  // evaluates one set of weights, averaged or not
  }
  const auto& source = start.data ? start.data : start.weights;
  if (source && arguments.job.eval_only)
    take_held_out(arguments.job, places, train::val_split_in(source->settings), env.rank == 0);
  models::describe(arguments.job.model);  // rejects unknown model names before listing files
  if (arguments.job.resume) check_restored(arguments.job, start);
  const Datasets datasets = open_datasets(arguments.job, places, !arguments.job.eval_only,
                                          known_classes(start, arguments.job), communicator);
  // Checks the folder after the data is opened, so that errors in the data are reported first.
  if (!dry) train::require_own_folder(arguments.job, start, communicator.main);
  if (datasets.train) fit_batch(arguments, *datasets.train, communicator);
  if (arguments.job.fit_batch_size) arguments.origins["batch-size"] = "--batch-size auto";
  train::ResolvedJob job = resolve_job(arguments.job, gpus, datasets, communicator);
  train::require_statistics(job);
  mark_effects(arguments, job);
  job.index_dir = index_folder(arguments.job, places);
  job.train_source = datasets.train_source;
  job.val_source = datasets.val_source;
  job.provenance = provenance_of(arguments, dist::environment());
  job.provenance.host.emplace_back("libtorch", TORCH_VERSION);
  if (env.rank == 0) print_start(arguments, job, start);
  if (job.dry_run) {
    const train::DryRun found =
        train::dry_run(job, start, datasets.train, datasets.val, communicator);
    communicator.shutdown();
    print_dry_run(job, found, communicator);
    return 0;
  }
  training_begins();
  return train_with_report(job, std::move(start), datasets, communicator, watchdog,
                           arguments.report_page && env.rank == 0);
}

}  // namespace

int train_command(const Arguments& given) {
  Arguments arguments = given;
  if (!arguments.job.weights_entry.empty() && arguments.job.weights.empty())
    throw UserError("--weights-entry selects an entry of the --weights file; add --weights PATH");
  const bool dry = arguments.job.dry_run;
  if (dry)
    release_signals();
  else
    install_training_signals(arguments.job.on_platform);
  const dist::Env env = dist::this_worker(dist::environment());
  begin(arguments.job, env);
  if (dry) arguments.job.cache_dir = "";  // a dry run writes nothing to --cache-dir
  if (dry) arguments.job.seek_index = false;
  const train::Gpus gpus = train::claim_gpu(arguments.job, env.local_rank);
  const auto progress = std::make_shared<dist::Progress>();
  const bool on_platform = arguments.job.on_platform;
  train::Watchdog watchdog(
      {arguments.job.stop_timeout, env.rank == 0, progress,
       [on_platform](const train::Ending& ending) { end_process(ending, on_platform); }});
  dist::Communicator communicator =
      connect_ranks(arguments.job, gpus, env, progress, watchdog.loss_reporter());
  // From here on, a signal must not end this rank at once: all ranks stop at the same step.
  if (env.world_size > 1) training_begins();
  int signal = 0;
  try {
    signal = train_connected(arguments, gpus, communicator, watchdog);
  } catch (const std::exception& error) {
    // After a stop signal, rank 0 may save and exit while this rank still waits for it. This is not
    // an error.
    signal = train::stop_signal();
    if (env.rank == 0 || signal == 0 || !is_lost_peer(error)) throw;
    log::warning("rank 0 has ended, so this rank stops too");
  }
  return signal == 0 || on_platform ? 0 : 128 + signal;
}

}  // namespace shoal::app
