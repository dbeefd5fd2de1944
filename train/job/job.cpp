#include "train/job/job.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "base/text.h"
#include "models/catalogue.h"
#include "models/program/plan.h"
#include "train/job/job_images.h"
#include "train/job/rank_loader_options.h"

namespace shoal::train {

void check_values(const Job& job) {
  require(job.backend != "nccl" || job.device != "cpu",
          "--backend nccl needs --device cuda; use --backend gloo");
  require(job.decoder == data::Decoder::shoal || job.resize == data::Resize::exact,
          "--decoder turbo does not support --resize fast; omit one of them");
  require(!job.optimizer.nesterov || job.optimizer.kind != OptimizerOptions::Kind::sgd ||
              job.optimizer.momentum > 0,
          "--nesterov needs a --momentum above 0");
  if (!job.resume) require_start_weights(job);
  check_images(job);
}

void require_start_weights(const Job& job) {
  require(job.freeze == "none" || !job.weights.empty(),
          "--freeze, which --recipe finetune also sets, needs trained weights; add --weights PATH");
}

namespace {

constexpr int64_t kMaxPeriod = 1'000'000'000;  // maximum steps or epochs between histograms

// Divides a per-host count by the number of processes. Returns at least 1.
int64_t share_of(int64_t count, int64_t processes) {
  return std::max<int64_t>(1, count / std::max<int64_t>(1, processes));
}

// Resolves the batch size, the global batch size and the number of micro-batches. The global batch
// size must be a multiple of ranks × micro-batches, so that all micro-batches have the same size.
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
    out.batch_size = batch.value_or(kDefaultBatchSize);
  }
  out.global_batch_size = out.batch_size * parts;
  require(out.batch_size % batch_multiple(job) == 0,
          "--mixup and --cutmix mix pairs, so the batch of each process must be even; it is " +
              std::to_string(out.batch_size) + " (--batch-size, --global-batch-size)");
}

// Resolves the length of an epoch of a stream.
void resolve_stream(const Job& job, ResolvedJob& out) {
  require(
      !job.train_samples || !job.epoch_steps,
      "--train-samples and --steps-per-epoch both set the length of an epoch; give one of them");
  require(job.train_samples || job.epoch_steps || job.max_steps,
          "the number of training images in a pipe is unknown; set the length of an epoch with "
          "--train-samples N or --steps-per-epoch N, or of the run with --max-steps N");
  require(job.repeated_augmentation == 1, "--repeated-augmentation does not work with a pipe");
  out.open_ended = !job.train_samples && !job.epoch_steps;
  out.train_images = job.train_samples.value_or(job.epoch_steps.value_or(0) *
                                                out.global_batch_size * job.mix.images_per_row());
  if (!out.open_ended) return;
  out.total_steps = out.last_step = *job.max_steps;
  out.steps_per_epoch =
      std::max<int64_t>(1, std::llround(static_cast<double>(*job.max_steps) / job.epochs));
}

void resolve_length(const Job& job, const Surroundings& here, ResolvedJob& out) {
  if (job.eval_only) return;
  const int64_t taken = out.global_batch_size * job.mix.images_per_row();  // images read per step
  out.train_streamed = here.train_streamed;
  out.train_whole_files = here.train_whole_files;
  require(!out.train_whole_files || job.repeated_augmentation == 1,
          "--repeated-augmentation does not work if files are read from front to back; omit it, or "
          "add --no-forward-reads");
  require(job.balance == 0 || !(out.train_streamed || out.train_whole_files),
          out.train_streamed
              ? "--balance does not work with a pipe, because it must know all images; omit it, or "
                "give the images as files"
              : "--balance does not work if files are read from front to back; omit it, or add "
                "--no-forward-reads");
  if (out.train_streamed) resolve_stream(job, out);
  if (out.open_ended) return;
  require(out.train_images >= taken,
          "the training set has " + std::to_string(out.train_images) +
              " images, fewer than one step of " + std::to_string(taken) +
              "; lower --batch-size, --global-batch-size or --accumulate");
  out.steps_per_epoch = out.train_images / taken;
  if (here.smallest_share > 0) {
    const int64_t of_host = taken * here.local_world_size / here.world_size;
    out.steps_per_epoch = here.smallest_share / of_host;
    require(out.steps_per_epoch > 0, "a host has only " + std::to_string(here.smallest_share) +
                                         " training images, but one step needs " +
                                         std::to_string(of_host) +
                                         " per host; lower --batch-size, or use fewer hosts");
  }
  out.dropped_images = out.train_images - out.steps_per_epoch * taken;
  out.total_steps =
      std::max<int64_t>(1, std::llround(job.epochs * static_cast<double>(out.steps_per_epoch)));
  const int64_t most = job.time_budget > 0 ? kNoLastStep : out.total_steps;
  out.last_step = std::min(most, job.max_steps.value_or(most));
}

void resolve_images(const Job& job, ResolvedJob& out) {
  const models::ModelInfo& model = out.model_info;
  out.progression = progression_of(job);
  out.progression.seed = job.seed;
  out.progression.images_per_step = out.global_batch_size * job.mix.images_per_row();
  const auto last_epoch = static_cast<int64_t>(job.epochs);
  out.size = job.size.value_or(out.progression.sizes.empty() ? model.train_size
                                                             : out.progression.side(last_epoch, 0));
  out.progression.size = out.size;
  out.transform = evaluation_transform(job, model);
  out.val_size = out.transform.eval_size;
  out.val_resize = out.transform.eval_resize;
  out.crop_pct = job.crop_pct.value_or(0);
  out.val_interpolation = out.transform.interpolation;
  out.interpolation = job.interpolation.value_or(out.val_interpolation);
  out.transform.size = out.size;
  out.transform.hflip = job.hflip;
  out.transform.vflip = job.vflip;
  out.transform.scale_min = job.crop_scale_min;
  out.transform.resize = job.resize;
  out.transform.decoder = job.decoder;
  out.transform.interpolation = out.interpolation;
  out.transform.scale_max = job.crop_scale_max;
  out.transform.ratio_min = job.crop_ratio_min;
  out.transform.ratio_max = job.crop_ratio_max;
  out.transform.augment = job.augment;
  out.mix.group = out.global_batch_size;
}

void resolve_machine(const Job& job, const Surroundings& here, ResolvedJob& out) {
  out.device = here.on_gpu ? "cuda" : "cpu";
  out.gpu = here.gpu;
  out.host_gpus = here.host_gpus;
  out.backend = here.backend;
  const int share = std::max<int>(
      1, here.processors / static_cast<int>(std::max<int64_t>(1, here.local_world_size)));
  out.threads = job.threads.value_or(share);
  out.workers = job.workers.value_or(share);
  if (job.workers && job.batch_per_host)
    out.workers = static_cast<int>(share_of(*job.workers, here.local_world_size));
}

// Returns why this run cannot use the fused kernels; empty if it can.
std::string fused_obstacle(const ResolvedJob& job) {
  if (job.device != "cpu") return "they run only on the CPU";
  if (job.float64) return "they do not compute in double";
  if (job.sync_bn) return "they do not support --sync-bn";
  models::ModelOptions options;
  options.name = job.model.name;
  return models::fused_obstacle(models::make_network(options));
}

void resolve_kernels(ResolvedJob& job) {
  using models::Kernels;
  if (job.model.kernels == Kernels::reference) return;
  const std::string obstacle = fused_obstacle(job);
  if (job.model.kernels == Kernels::automatic)
    job.model.kernels = obstacle.empty() ? Kernels::fused : Kernels::reference;
  if (job.model.kernels == Kernels::reference) return;
  require(obstacle.empty(),
          "--kernels fused cannot compute this run: " + obstacle + "; use --kernels reference");
}

}  // namespace

int64_t batch_multiple(const RunOptions& job) {
  return job.mix.mixes() && job.mix.images_per_row() == 1 ? 2 : 1;
}

int64_t frozen_stages(const std::string& freeze, const models::ModelInfo& model) {
  const std::vector<std::string>& stages = model.stages;
  const auto most = static_cast<int64_t>(stages.size()) - 1;
  if (freeze == "none") return 0;
  if (freeze == "all-but-head") return most;
  const auto named = std::find(stages.begin(), stages.end(), freeze);
  if (named != stages.end() && named + 1 != stages.end()) return named - stages.begin() + 1;
  if (const auto number = parse_whole_number(freeze); number && *number <= most) return *number;
  throw UserError("--freeze is '" + freeze + "', but the stages of " + model.name + " before its " +
                  "classifier are " + joined({stages.begin(), stages.end() - 1}) +
                  "; give one of them, a number from 0 to " + std::to_string(most) +
                  ", none or all-but-head");
}

bool is_sharded(const Job& job, const std::string& split) {
  return job.sharded == "both" || job.sharded == (job.val_split > 0 ? "train" : split);
}

std::string checkpoint_directory(const Job& job) {
  return job.checkpoint_dir.value_or(job.output + "/" + kCheckpointsFolder);
}

std::string cache_folder(const Job& job) {
  return job.cache_dir.value_or(job.output + "/cache");
}

double val_split_in(const std::vector<std::pair<std::string, std::string>>& settings) {
  for (const auto& [name, value] : settings)
    if (name == "val_split") {
      const auto share = parse_number<double>(value);
      if (!share) throw std::runtime_error("the weights' val_split is damaged: '" + value + "'");
      return *share;
    }
  return 0;
}

int64_t steps_of_period(const std::string& text, int64_t steps_per_epoch) {
  if (text == "none") return 0;
  const bool epochs = text.ends_with('e');
  const auto count = parse_number<int64_t>(text.substr(0, text.size() - (epochs ? 1 : 0)));
  if (!count || *count < 1 || *count > kMaxPeriod)
    throw std::invalid_argument(
        "a number of steps, such as 500, or of epochs, such as 1e, or none");
  return epochs ? *count * steps_per_epoch : *count;
}

namespace {

// With label smoothing, requires a --bce-threshold between the target of the other classes and that
// of the label. Otherwise, the threshold would make all targets of an unmixed image 0, or all of
// them 1.
void check_threshold(const ResolvedJob& job) {
  if (job.eval_only || job.loss != Loss::binary || job.bce_threshold < 0) return;
  const double other = job.label_smoothing / static_cast<double>(job.model.classes);
  const double label = 1 - job.label_smoothing + other;
  const double threshold = job.bce_threshold;
  require(job.label_smoothing == 0 || (threshold > other && threshold < label),
          strf("--bce-threshold is %g; with --label-smoothing %g and %ld classes, it must be above "
               "%g and below %g, the targets of other classes and of the label",
               threshold, job.label_smoothing, job.model.classes, other, label));
}

void resolve_reports(const Job& job, ResolvedJob& out) {
  if (job.tensorboard.empty()) out.tensorboard = job.output + "/tensorboard";
  if (job.tensorboard == "none" || job.eval_only) out.tensorboard = "";
  const bool in_epochs = job.histograms != "none" && job.histograms.ends_with('e');
  require(!out.open_ended || !in_epochs,
          "--histograms " + job.histograms +
              ": the length of an epoch is unknown, because the images come through a pipe; give a "
              "number of steps");
  if (!out.tensorboard.empty())
    out.histogram_steps = steps_of_period(job.histograms, out.steps_per_epoch);
}

}  // namespace

ResolvedJob resolve(const Job& job, const Surroundings& here) {
  check_values(job);
  ResolvedJob out;
  static_cast<RunOptions&>(out) = job;
  out.world_size = here.world_size;
  out.local_world_size = here.local_world_size;
  const bool several_hosts = here.world_size > here.local_world_size;
  out.train_sharded = several_hosts && is_sharded(job, "train");
  out.val_sharded = several_hosts && is_sharded(job, "val");
  out.train_images = here.train_images;
  out.val_images = here.val_images;
  require(!job.classes || here.classes == 0 || *job.classes >= here.classes,
          "--classes is " + std::to_string(job.classes.value_or(0)) + " but the data has " +
              std::to_string(here.classes) + "; omit it or give at least that many");
  out.model_info = here.model;
  out.model.classes = job.classes.value_or(here.classes);
  out.bce_threshold = job.bce_threshold.value_or(-1);
  check_threshold(out);
  out.model.channels = job.channels.value_or(here.model.channels);
  out.model.dropout = here.model.dropout;
  out.model.drop_path = here.model.drop_path;
  out.frozen_stages = frozen_stages(job.freeze, here.model);
  resolve_batches(job, here, out);
  resolve_length(job, here, out);
  out.forward_reads = out.train_whole_files;
  out.val_streamed = here.val_streamed;
  out.val_whole_files = here.val_whole_files;
  resolve_images(job, out);
  resolve_machine(job, here, out);
  resolve_kernels(out);
  if (job.scale_lr)
    out.schedule.lr *=
        static_cast<double>(out.global_batch_size) / static_cast<double>(*job.scale_lr);
  require(out.schedule.min_lr <= out.schedule.lr,
          strf("--min-lr must not be above --lr, which is %g%s", out.schedule.lr,
               job.scale_lr ? " after --scale-lr" : ""));
  out.optimizer.eps = resolved_eps(job.optimizer);
  out.train_samples = job.train_samples.value_or(0);
  out.epoch_steps = job.epoch_steps.value_or(0);
  out.ema = job.ema.value_or(0);
  out.checkpoint_dir = checkpoint_directory(job);
  out.export_dir = job.export_dir.value_or("");
  out.checkpoint_steps = job.checkpoint_steps.value_or(0);
  resolve_reports(job, out);
  return out;
}

void require_statistics(const ResolvedJob& job) {
  constexpr int64_t kReduction = 32;
  if (job.eval_only || job.freeze_bn) return;
  if (job.freeze == "all-but-head" && job.unfreeze_epoch == 0) return;
  const int64_t side = rank_loader_options(job, 0, /*train=*/true).sides().smallest_side();
  const int64_t images = job.batch_size * (job.sync_bn ? job.world_size : 1);
  require(
      images > 1 || side > kReduction,
      "with a batch of one image of at most 32x32 pixels, batch normalization has only one value "
      "per channel, so the network cannot learn; use a larger --batch-size or --size, or add "
      "--freeze-bn");
}

}  // namespace shoal::train
