#include "app/commands/session.h"

#include <ATen/Parallel.h>

#include <cmath>
#include <set>
#include <stdexcept>

#include "app/commands/inputs/agreement.h"
#include "app/commands/inputs/class_weights.h"
#include "app/commands/memory.h"
#include "app/launch/checks.h"
#include "app/launch/machine.h"
#include "app/options/settings/saved_settings.h"
#include "base/format/counted.h"
#include "base/log.h"
#include "base/processor.h"
#include "dist/gather.h"
#include "dist/health/health.h"
#include "models/catalogue.h"
#include "train/step/allocator.h"

namespace shoal::app {

namespace {

// Returns the PCI addresses of the GPUs that the ranks of this host use. Collective.
std::vector<std::string> host_gpus(const train::Gpus& gpus,
                                   const dist::Communicator& communicator) {
  const dist::Env& env = communicator.env;
  const auto all = dist::gather_text(communicator.main, gpus.pci);
  const auto first = all.begin() + (env.rank - env.local_rank);
  const std::set<std::string> distinct(first, first + env.local_world_size);
  return {distinct.begin(), distinct.end()};
}

}  // namespace

void begin(const train::Job& job, const dist::Env& env) {
  // ATEN_CPU_CAPABILITY limits LibTorch's kernels. Limit shoal's kernels in the same way.
  const std::string limit = dist::value_of(dist::environment(), "ATEN_CPU_CAPABILITY");
  if (limit == "avx2") hold_to_avx2();
  if (limit == "default") hold_to_portable();
  // With --resume, the values are checked after the checkpoint's settings are restored.
  if (!job.resume) train::check_values(job);
  log::set_level(job.log_level, env.rank);
  train::install_allocator();
}

train::ResolvedJob resolve_job(train::Job& job, const train::Gpus& gpus, const Datasets& datasets,
                               const dist::Communicator& communicator) {
  const dist::Env& env = communicator.env;
  train::Surroundings here;
  here.rank = env.rank;
  here.world_size = env.world_size;
  here.local_world_size = env.local_world_size;
  here.train_images = datasets.train ? datasets.train->size() : 0;
  here.val_images = datasets.val->size();
  using data::Access;
  const Access access = datasets.train ? datasets.train->access() : Access::random;
  here.train_streamed = access == Access::pipe;
  here.train_whole_files = access == Access::sequential;
  here.val_streamed = datasets.val->access() == Access::pipe;
  here.val_whole_files = datasets.val->access() == Access::sequential;
  if (datasets.train && !here.train_streamed && train::is_sharded(job, "train")) {
    const Shares shares = count_shares(*datasets.train, communicator);
    here.train_images = shares.all;
    here.smallest_share = shares.smallest;
  }
  if (train::is_sharded(job, "val"))
    here.val_images = count_shares(*datasets.val, communicator).all;
  here.classes = static_cast<int64_t>(datasets.val->classes().size());
  here.processors = usable_processors() * (bound_by_parent() ? env.local_world_size : 1);
  here.on_gpu = gpus.count > 0;
  here.gpu = gpus.mine;
  if (here.on_gpu) here.host_gpus = host_gpus(gpus, communicator);
  if (env.world_size > 1) here.backend = dist::name_of(communicator.backend);
  if (env.rank == 0 && gpus.count > 0)
    log::warning(
        "shoal's GPU code is new and has not been tested on a GPU yet; --device cpu is tested");
  if (env.rank == 0 && !gpus.why_none.empty() && gpu_count(dist::environment()) > 0)
    log::warning("this host has GPUs, but the run uses the CPU: " + gpus.why_none);
  if (env.rank == 0 && datasets.train && here.classes > 0 && job.classes > here.classes)
    log::warning("--classes " + std::to_string(*job.classes) + ": the images have only " +
                 counted(here.classes, "class") + ", so the other outputs have no images");
  models::ModelOptions model = job.model;
  model.classes = job.classes.value_or(here.classes);
  model.channels = job.channels.value_or(model.channels);
  here.model = models::describe(model);
  const int64_t memory = memory_share(gpus, communicator);
  if (job.fit_batch_size && !datasets.train)
    throw UserError(
        "--batch-size auto works only in training, `shoal bench step` and `shoal bench scaling`; "
        "give a number or omit it");
  if (job.fit_batch_size) choose_batch_size(job, here, memory, communicator);
  train::ResolvedJob resolved = train::resolve(job, here);
  train::check_precision(resolved, gpus);
  if (env.rank == 0 && resolved.val_resize < resolved.val_size)
    log::warning("--val-resize " + std::to_string(resolved.val_resize) +
                 " is smaller than --val-size " + std::to_string(resolved.val_size) +
                 ": evaluation images get black borders");
  const int64_t side = resolved.progression.largest_side();
  if (env.rank == 0 && datasets.train && !job.size && !job.val_size &&
      2 * resolved.val_size > 3 * side)
    log::warning(
        strf("training images have at most %ld px, but validation images %ld px; set "
             "--val-size",
             side, resolved.val_size));
  if (datasets.train) check_memory(resolved, memory, env.rank == 0);
  if (datasets.train) {
    log_balance(resolved, *datasets.train, communicator);
    resolved.class_weights = class_weights(resolved, *datasets.train, communicator);
  }
  resolved.settings = settings_of(resolved);
  at::set_num_threads(resolved.threads);
  return resolved;
}

void check_health(const train::Job& job, const dist::Communicator& communicator) {
  using dist::HealthCheck;
  if (job.health_check == "off") return;
  const dist::Env& env = communicator.env;
  if (env.local_rank == 0)
    for (const Check& check : memory_checks())
      if (check.verdict == Check::Verdict::bad)
        throw std::runtime_error("rank " + dist::rank_with_host(env.rank, env) + ": " + check.name +
                                 ": " + check.value + "; " + check.advice +
                                 ", or skip the check with --health-check off");
  const auto report = dist::check_health(
      communicator, job.health_check == "full" ? HealthCheck::full : HealthCheck::quick);
  if (report.slowest_bytes_per_second > 0)
    log::info(strf("health check: the slowest link between hosts transfers %.0f MB/s",
                   report.slowest_bytes_per_second / 1e6));
}

dist::Communicator connect_ranks(const train::Job& job, const train::Gpus& gpus,
                                 const dist::Env& env, std::shared_ptr<dist::Progress> progress,
                                 const dist::Notify& lost) {
  dist::ConnectOptions options;
  using dist::Backend;
  options.backend = job.backend == "nccl"   ? Backend::nccl
                    : job.backend == "gloo" ? Backend::gloo
                                            : Backend::automatic;
  options.gpu = gpus.name;
  options.device = gpus.mine;
  if (gpus.plugin) options.nccl = &gpus.plugin->nccl;
  const auto milliseconds = [](double seconds) {
    return std::chrono::milliseconds(std::llround(1e3 * seconds));
  };
  options.rendezvous_timeout = milliseconds(job.rendezvous_timeout);
  options.timeout = milliseconds(job.collective_timeout);
  options.heartbeat.patience = milliseconds(job.stall_warning);
  options.heartbeat.lost_after = milliseconds(job.lost_host_timeout);
  options.heartbeat.notify = log::warning;
  options.heartbeat.lost = lost;
  options.progress = std::move(progress);
  dist::Communicator communicator = dist::connect(env, options);
  if (env.rank == 0 && !gpus.name.empty() && communicator.backend == Backend::gloo &&
      options.backend == Backend::automatic)
    log::warning(
        "processes share a GPU (or its MIG instances), so they use Gloo, which is slower than "
        "NCCL; start one process per GPU");
  return communicator;
}

}  // namespace shoal::app
