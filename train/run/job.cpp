#include "train/run/job.h"

#include <algorithm>
#include <cmath>

#include "train/run/job_images.h"

namespace shoal::train {
namespace {

void check_devices(const Job& job) {
  require(job.device == "auto" || job.device == "cpu" || job.device == "cuda",
          "--device is '" + job.device + "'; it must be auto, cpu or cuda");
  require(job.backend == "auto" || job.backend == "nccl" || job.backend == "gloo",
          "--backend is '" + job.backend + "'; it must be auto, nccl or gloo");
  require(job.backend != "nccl" || job.device != "cpu",
          "--backend nccl needs --device cuda; use --backend gloo");
  require(job.amp != Precision::fp16,
          "--amp fp16 is not offered: bf16 is as fast and needs no scaling of the loss; use --amp "
          "bf16 or off");
}

}  // namespace

void check_values(const Job& job) {
  check_devices(job);
  require(job.epochs > 0 && job.epochs <= 1e6,
          "--epochs is " + number(job.epochs) + "; it must be above 0 and at most 1000000");
  check_count("--max-steps", job.max_steps, int64_t{1} << 40);
  check_count("--batch-size", job.batch_size, 1 << 20);
  check_count("--global-batch-size", job.global_batch_size, 1 << 24);
  check_count("--accumulate", job.accumulate, 1 << 16);
  check_count("--scale-lr", job.scale_lr, 1 << 24);
  check_count("--classes", job.classes, 1 << 24);
  check_count("--train-samples", job.train_samples, int64_t{1} << 40);
  check_count("--steps-per-epoch", job.steps_per_epoch, int64_t{1} << 40);
  check_range("--shuffle-buffer", static_cast<double>(job.shuffle_buffer), 0, 1 << 24);
  require(job.rendezvous_timeout >= 1 && job.rendezvous_timeout <= 1e6,
          "--rendezvous-timeout is " + number(job.rendezvous_timeout) +
              "; it must lie between 1 and 1000000 seconds");
  check_range("--collective-timeout", job.collective_timeout, 1, 1e6);
  check_range("--stall-warning", job.stall_warning, 0, 1e6);
  check_count("--workers", job.workers, 1024);
  check_count("--threads", job.threads, 1024);
  check_count("--print-freq", job.print_freq, int64_t{1} << 40);
  check_count("--keep", job.keep, int64_t{1} << 40);
  require(job.checkpoint_minutes >= 0, "--checkpoint-minutes must not be negative; 0 turns it off");
  check_count("--checkpoint-steps", job.checkpoint_steps, int64_t{1} << 40);
  check_count("--non-finite-limit", job.non_finite_limit, int64_t{1} << 40);
  check_range("--spike-ratio", job.spike_ratio, 1.01, 1000);
  require(!job.size || (*job.size >= 32 && *job.size <= 4096),
          "--size must lie between 32 and 4096 pixels");
  require(!job.val_size || (*job.val_size >= 32 && *job.val_size <= 4096),
          "--val-size must lie between 32 and 4096 pixels");
  check_range("--label-smoothing", job.label_smoothing, 0, 0.999);
  if (job.ema) check_range("--ema", *job.ema, 0, 1);
  if (job.model.dropout) check_range("--dropout", *job.model.dropout, 0, 0.999);
  if (job.model.drop_path) check_range("--drop-path", *job.model.drop_path, 0, 0.999);
  require(job.weights_entry.empty() || !job.weights.empty(),
          "--weights-entry names a part of the file of --weights; add --weights PATH");
  require(job.decoder == data::Decoder::shoal || job.resize == data::Resize::exact,
          "--decoder turbo has no --resize fast; leave one of them out");
  check_images(job);
  try {
    validate(job.optimizer);
    validate(job.schedule);
    if (job.ema && *job.ema > 0) validate(EmaOptions{*job.ema});
  } catch (const std::invalid_argument& error) {
    throw UserError(error.what());
  }
}

namespace {

// One process's part of what is meant for a host.
int64_t share_of(int64_t count, int64_t processes) {
  return std::max<int64_t>(1, count / std::max<int64_t>(1, processes));
}

// One rank's share of an update. G must divide evenly: every rank does the same work in every
// micro-batch.
void resolve_batches(const Job& job, const Surroundings& here, ResolvedJob& out) {
  const int64_t world = here.world_size;
  std::optional<int64_t> batch = job.batch_size;
  if (batch && job.batch_per_host) batch = share_of(*batch, here.local_world_size);
  int64_t accumulate = job.accumulate;
  if (batch && job.global_batch_size && accumulate == 1 &&
      *job.global_batch_size % (*batch * world) == 0)
    accumulate = *job.global_batch_size / (*batch * world);
  const int64_t parts = world * accumulate;
  out.accumulate = accumulate;
  if (job.global_batch_size) {
    const int64_t global = *job.global_batch_size;
    require(global % parts == 0, "--global-batch-size " + std::to_string(global) +
                                     " does not divide by " + std::to_string(parts) + " (" +
                                     std::to_string(world) + " processes × --accumulate " +
                                     std::to_string(accumulate) + "); choose a multiple of " +
                                     std::to_string(parts));
    require(!batch || *batch * parts == global,
            "--batch-size " + std::to_string(batch.value_or(0)) + " × " + std::to_string(world) +
                " processes × --accumulate " + std::to_string(accumulate) +
                " is not --global-batch-size " + std::to_string(global) + "; give one of them");
    out.batch_size = global / parts;
  } else {
    out.batch_size = batch.value_or(32);
  }
  out.global_batch_size = out.batch_size * parts;
  require(!job.mix.mixes() || out.batch_size % 2 == 0 || job.mix.images_per_row() == 2,
          "--mixup and --cutmix mix pairs, so the batch of each process must be even; it is " +
              std::to_string(out.batch_size) + " (--batch-size, --global-batch-size)");
}

// How many images an epoch of a stream has, or what stands for it.
void resolve_stream(const Job& job, ResolvedJob& out) {
  require(!job.train_samples || !job.steps_per_epoch,
          "--train-samples and --steps-per-epoch both say how long an epoch is; give one of them");
  require(job.train_samples || job.steps_per_epoch || job.max_steps,
          "how many training images come through a pipe is not known beforehand; say how long an "
          "epoch is with --train-samples N or --steps-per-epoch N, or how long the run is with "
          "--max-steps N");
  require(job.repeated_augmentation == 1, "--repeated-augmentation has no use with a pipe");
  out.open_ended = !job.train_samples && !job.steps_per_epoch;
  out.train_images = job.train_samples.value_or(job.steps_per_epoch.value_or(0) *
                                                out.global_batch_size * job.mix.images_per_row());
  if (!out.open_ended) return;
  out.total_steps = out.last_step = *job.max_steps;
  out.steps_per_epoch =
      std::max<int64_t>(1, std::llround(static_cast<double>(*job.max_steps) / job.epochs));
}

void resolve_length(const Job& job, const Surroundings& here, ResolvedJob& out) {
  if (job.eval_only) return;
  const int64_t taken = out.global_batch_size * job.mix.images_per_row();  // by an update
  out.train_streamed = here.train_streamed;
  out.train_whole_files = here.train_whole_files;
  require(!out.train_whole_files || job.repeated_augmentation == 1,
          "--repeated-augmentation has no use where files are read from front to back; leave "
          "it out, or give --no-forward-reads");
  if (out.train_streamed) resolve_stream(job, out);
  require(out.train_streamed || !job.train_samples,
          "--train-samples has no use: the training images can be counted");
  if (out.open_ended) return;
  require(out.train_images >= taken,
          "the training set has " + std::to_string(out.train_images) +
              " images, fewer than one update of " + std::to_string(taken) +
              "; lower --batch-size, --global-batch-size or --accumulate");
  out.steps_per_epoch = out.train_images / taken;
  if (here.smallest_share > 0) {
    const int64_t of_host = taken * here.local_world_size / here.world_size;
    out.steps_per_epoch = here.smallest_share / of_host;
    require(out.steps_per_epoch > 0, "a host has only " + std::to_string(here.smallest_share) +
                                         " training images, fewer than its " +
                                         std::to_string(of_host) +
                                         " of one update; lower --batch-size, or use fewer hosts");
  }
  out.dropped_images = out.train_images - out.steps_per_epoch * taken;
  out.total_steps =
      std::max<int64_t>(1, std::llround(job.epochs * static_cast<double>(out.steps_per_epoch)));
  out.last_step = std::min(out.total_steps, job.max_steps.value_or(out.total_steps));
}

void resolve_images(const Job& job, const models::ModelInfo& model, ResolvedJob& out) {
  out.progression = progression_of(job);
  out.progression.seed = job.seed;
  out.progression.update = out.global_batch_size * job.mix.images_per_row();
  const auto last_epoch = static_cast<int64_t>(job.epochs);
  const int64_t size = job.size.value_or(
      out.progression.sizes.empty() ? model.train_size : out.progression.side(last_epoch, 0));
  out.eval_size = job.val_size.value_or(job.size ? size : model.eval_size);
  out.eval_resize = evaluation_resize(out.eval_size, model);
  const std::string own = model.bicubic ? "bicubic" : "bilinear";
  const std::string filter = job.interpolation.value_or(own);
  require(filter == "bilinear" || filter == "bicubic" || filter == "random",
          "--interpolation is '" + filter + "'; it must be bilinear, bicubic or random");
  out.transform.size = size;
  out.transform.eval_size = out.eval_size;
  out.transform.eval_resize = out.eval_resize;
  out.transform.scale_min = job.crop_scale_min;
  out.transform.resize = job.resize;
  out.transform.decoder = job.decoder;
  out.transform.interpolation = interpolation_named(filter);
  out.eval_interpolation = interpolation_named(filter == "random" ? own : filter);
  out.transform.scale_max = job.crop_scale_max;
  out.transform.ratio_min = job.crop_ratio_min;
  out.transform.ratio_max = job.crop_ratio_max;
  out.transform.augment = job.augment;
  out.transform.eval_views = job.views;
  out.job.mix.group = out.global_batch_size;
}

void resolve_machine(const Job& job, const Surroundings& here, ResolvedJob& out) {
  out.device = here.on_gpu ? "cuda" : "cpu";
  out.gpu = here.gpu;
  out.backend = here.backend;
  const int share = std::max<int>(
      1, here.processors / static_cast<int>(std::max<int64_t>(1, here.local_world_size)));
  out.threads = job.threads.value_or(share);
  out.workers = job.workers.value_or(share);
  if (job.workers && job.batch_per_host)
    out.workers = static_cast<int>(share_of(*job.workers, here.local_world_size));
}

Pairs describe(const OptimizerOptions& o) {
  Pairs list = {{"optimizer", to_string(o.kind)},
                {"weight_decay", number(o.weight_decay)},
                {"clip", number(o.clip)}};
  if (o.kind == OptimizerOptions::Kind::adamw) {
    list.insert(list.end(), {{"beta1", number(o.beta1)}, {"beta2", number(o.beta2)}});
  } else {
    list.push_back({"momentum", number(o.momentum)});
  }
  if (o.kind == OptimizerOptions::Kind::sgd)
    list.push_back({"nesterov", o.nesterov ? "true" : "false"});
  if (o.kind == OptimizerOptions::Kind::rmsprop) list.push_back({"alpha", number(o.alpha)});
  if (o.kind != OptimizerOptions::Kind::sgd) list.push_back({"eps", number(resolved_eps(o))});
  return list;
}

Pairs describe(const ScheduleOptions& s) {
  using Kind = ScheduleOptions::Kind;
  Pairs list = {{"schedule", to_string(s.kind)}};
  if (s.kind == Kind::one_cycle) return list;
  list.insert(list.end(), {{"warmup_epochs", number(s.warmup_epochs)},
                           {"warmup_start", number(s.warmup_start)},
                           {"min_lr", number(s.min_lr)}});
  if (s.kind == Kind::step) {
    list.insert(list.end(),
                {{"decay_epochs", number(s.decay_epochs)}, {"decay_rate", number(s.decay_rate)}});
  }
  return list;
}

const char* name(OnSpike reaction) {
  return reaction == OnSpike::rollback     ? "rollback"
         : reaction == OnSpike::checkpoint ? "checkpoint"
                                           : "log";
}

const char* name(Precision precision) {
  return precision == Precision::bf16 ? "bf16" : precision == Precision::fp16 ? "fp16" : "off";
}

}  // namespace

int64_t evaluation_resize(int64_t eval_size, const models::ModelInfo& model) {
  const double ratio =
      static_cast<double>(model.eval_resize) / static_cast<double>(model.eval_size);
  const auto resize = static_cast<int64_t>(std::llround(static_cast<double>(eval_size) * ratio));
  return std::max(eval_size, resize);
}

std::string checkpoint_directory(const Job& job) {
  return job.checkpoint_dir.value_or(job.output + "/checkpoints");
}

double val_split_in(const Pairs& settings) {
  for (const auto& [name, value] : settings)
    if (name == "val_split") return std::stod(value);
  return 0;
}

ResolvedJob resolve(const Job& job, const Surroundings& here) {
  check_values(job);
  ResolvedJob out;
  out.job = job;
  out.world_size = here.world_size;
  out.local_world_size = here.local_world_size;
  const bool several_hosts = here.world_size > here.local_world_size;
  out.train_sharded = several_hosts && (job.sharded == "train" || job.sharded == "both");
  out.val_sharded = job.val_split > 0
                        ? out.train_sharded
                        : several_hosts && (job.sharded == "val" || job.sharded == "both");
  out.train_images = here.train_images;
  out.val_images = here.val_images;
  out.model = here.model;
  require(!job.classes || here.classes == 0 || *job.classes >= here.classes,
          "--classes is " + std::to_string(job.classes.value_or(0)) + " but the data has " +
              std::to_string(here.classes) + "; leave it out or give at least that many");
  out.job.classes = job.classes.value_or(here.classes);
  out.job.model.classes = *out.job.classes;
  out.job.model.dropout = here.model.dropout;
  out.job.model.drop_path = here.model.drop_path;
  resolve_batches(job, here, out);
  resolve_length(job, here, out);
  resolve_images(job, here.model, out);
  resolve_machine(job, here, out);
  out.lr = job.schedule.lr;
  if (job.scale_lr) {
    out.lr *= static_cast<double>(out.global_batch_size) / static_cast<double>(*job.scale_lr);
  }
  out.job.schedule.lr = out.lr;
  out.job.batch_size = out.batch_size;
  out.job.accumulate = out.accumulate;
  out.job.batch_per_host = false;  // both are per process now
  out.job.global_batch_size = out.global_batch_size;
  out.job.size = out.transform.size;
  out.job.val_size = out.eval_size;
  out.job.interpolation = name(out.transform.interpolation);
  out.job.optimizer.eps = resolved_eps(job.optimizer);
  out.job.workers = out.workers;
  out.job.threads = out.threads;
  out.job.checkpoint_dir = checkpoint_directory(job);
  return out;
}

std::vector<std::pair<std::string, std::string>> ResolvedJob::settings() const {
  const auto& o = job.optimizer;
  std::vector<std::pair<std::string, std::string>> list = {
      {"model", job.model.name},
      {"classes", std::to_string(job.model.classes)},
      {"dropout", number(job.model.dropout.value_or(0))},
      {"drop_path", number(job.model.drop_path.value_or(0))},
      {"val_split", number(job.val_split)},
      {"train_images", std::to_string(train_images)},
      {"size", std::to_string(transform.size)},
      {"val_size", std::to_string(eval_size)},
      {"val_resize", std::to_string(eval_resize)},
      {"interpolation", name(transform.interpolation)},
      {"resize", job.resize == data::Resize::fast ? "fast" : "exact"},
      {"order", job.order == data::Order::chunked ? "chunked" : "random"},
      {"epochs", number(job.epochs)},
      {"global_batch_size", std::to_string(global_batch_size)},
      {"accumulate", std::to_string(accumulate)},
      {"lr", number(lr)},
      {"label_smoothing", number(job.label_smoothing)},
      {"ema", job.ema ? number(*job.ema) : "off"},
      {"amp", name(job.amp)},
      {"sync_bn", job.sync_bn ? "true" : "false"},
      {"on_spike", name(job.on_spike)},
      {"spike_ratio", number(job.spike_ratio)},
      {"seed", std::to_string(job.seed)},
      {"bad_images", job.bad_images == data::BadImages::error ? "error" : "replace"},
  };
  list.push_back({"forward_reads", train_whole_files ? "true" : "false"});
  if (train_streamed || train_whole_files)
    list.push_back({"shuffle_buffer", std::to_string(job.shuffle_buffer)});
  if (job.sharded != "none") list.push_back({"sharded", job.sharded});
  if (job.train_samples) list.push_back({"train_samples", std::to_string(*job.train_samples)});
  if (job.steps_per_epoch)
    list.push_back({"steps_per_epoch", std::to_string(*job.steps_per_epoch)});
  for (auto& entry : describe_images(job)) list.push_back(entry);
  for (auto& entry : describe(o)) list.push_back(entry);
  for (auto& entry : describe(job.schedule)) list.push_back(entry);
  return list;
}

}  // namespace shoal::train
