#include "app/options/no_effect.h"

#include <algorithm>
#include <optional>

#include "app/options/optimizer_names.h"
#include "app/weights/remote_weights.h"
#include "data/augment/settings.h"

namespace shoal::app {
namespace {

using Case = const Circumstances&;
using Schedule = train::ScheduleOptions::Kind;

// Whether the user gave the value, on the command line, in hyperparameters or in a file.
bool is_users(const std::string& origin, const std::string& config) {
  if (!config.empty() && origin.starts_with(config)) return true;
  for (const char* start : {kCommandLine, "hyperparameters.json", "SM_HP"}) {
    if (origin.starts_with(start)) return true;
  }
  return false;
}

bool is_off(const Option& option, const Arguments& arguments) {
  const std::string value = option.get(arguments);
  return option.kind == Kind::flag ? value == "false"
                                   : value.empty() || (!option.off.empty() && value == option.off);
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

// Whether the training images are read sequentially.
bool streamed(Case c) {
  return c.run.train_streamed || c.run.train_whole_files;
}
bool mixes(Case c) {
  return c.run.mix.mixup > 0 || c.run.mix.cutmix > 0;
}
bool sized_by_epoch(Case c) {
  return c.run.size_schedule != "none" || c.run.multi_scale != "none";
}
// Whether --val-size has a value from the user, a recipe or a checkpoint.
bool has_own_val_size(Case c) {
  return c.arguments.job.val_size.has_value();
}
// Whether the optimizer reads none of the options that `kUses` stands for.
template <ops::OptimizerUses kUses>
bool unused(Case c) {
  return !(ops::info_of(c.run.optimizer.kind).uses & kUses);
}
Schedule schedule(Case c) {
  return c.run.schedule.kind;
}
// Whether anything that --strength-schedule scales is on.
bool has_strength(Case c) {
  const std::string& policy = c.run.augment.policy;
  return policy.starts_with("ra") || policy.starts_with("augmix") || mixes(c) ||
         c.run.model.dropout.value_or(0) > 0;
}
bool gray(Case c) {
  return c.run.transform.channels == 1;
}
bool jitters_color(Case c) {
  const data::augment::Jitter jitter = data::augment::parse_jitter(c.run.augment.color_jitter);
  return jitter.saturation > 0 || jitter.hue > 0;
}
bool names_all_images(Case c) {
  const train::Job& job = c.arguments.job;
  return !job.eval_only && !job.val_dir.empty() && !job.train_dir.empty();
}

// Number of epochs that end before the last step; nothing if the length of the run is unknown.
std::optional<int64_t> epochs_before_end(Case c) {
  if (c.run.eval_only || c.run.open_ended || c.run.last_step == train::kNoLastStep) return {};
  return (c.run.last_step - 1) / c.run.steps_per_epoch;
}
// Whether the layers of --freeze stay frozen until the run ends.
bool stays_frozen(Case c) {
  const auto epochs = epochs_before_end(c);
  return c.run.unfreeze_epoch == 0 || (epochs && c.run.unfreeze_epoch > *epochs);
}
// Whether --patience cannot end the run early. The first evaluation is always the best so far.
bool patience_is_out_of_reach(Case c) {
  const auto epochs = epochs_before_end(c);
  return epochs && c.run.eval_every > 0 && *epochs / c.run.eval_every <= c.run.patience;
}
// Whether --decay-epochs or --warmup-epochs determines when the learning rate changes.
bool schedule_counts_epochs(Case c) {
  return schedule(c) == Schedule::step ||
         (schedule(c) != Schedule::one_cycle && c.run.schedule.warmup_epochs > 0);
}

// Whether label smoothing has no effect because --bce-threshold makes all targets 0 or 1. With
// class weights, smoothing has an effect: an image's loss is multiplied by
// Σ class weight * smoothed target.
bool rounds_smoothing_away(Case c) {
  return c.run.loss == train::Loss::binary && c.run.bce_threshold >= 0 && !mixes(c) &&
         c.run.class_weighting == "none";
}

// Returns the row for options that only some optimizers read.
template <ops::OptimizerUses kUses>
NoEffect of_optimizers(std::vector<std::string> options) {
  return {std::move(options),
          ": it belongs to --optimizer " +
              alternatives(optimizers_with(kUses, &ops::OptimizerInfo::name)),
          unused<kUses>};
}

// Returns the names of options that only training uses.
std::vector<std::string> of_training() {
  std::vector<std::string> names;
  for (const Option& option : options())
    if (option.training_only) names.push_back(option.name);
  return names;
}

std::vector<NoEffect> all_rows() {
  return {
      {{"train"},
       ": --eval-only trains nothing",
       [](Case c) { return c.run.eval_only && c.run.val_split == 0; }},
      {of_training(), ": --eval-only trains nothing", [](Case c) { return c.run.eval_only; }},
      {{"export"}, ": --export-dir is not given", [](Case c) { return c.run.export_dir.empty(); }},
      {{"histograms"}, ": --tensorboard is none", [](Case c) { return c.run.tensorboard.empty(); }},
      {{"weights", "weights-entry", "weights-cache", "load-partial"},
       ": the run continues from a checkpoint, which contains the weights",
       [](Case c) { return c.continued; }},
      {{"load-partial", "weights-entry"},
       ": --weights is not given",
       [](Case c) { return c.run.weights.empty(); }},
      {{"weights-cache"},
       ": --weights names nothing to download",
       [](Case c) { return !remote_weights(c.run.weights); }},
      {{"data"}, ": --train and --val locate all images", names_all_images},
      {{"data"},
       ": --val locates the images",
       [](Case c) { return c.run.eval_only && !c.arguments.job.val_dir.empty(); }},
      {{"steps-per-epoch", "train-samples"},
       ": the training images do not come through a pipe",
       [](Case c) { return !c.run.train_streamed; }},
      {{"shuffle-buffer"},
       ": the training images neither come through a pipe nor are read with --forward-reads",
       [](Case c) { return !streamed(c); }},
      {{"forward-reads"},
       ": no images are in tar, zip or record files",
       [](Case c) { return !c.run.train_whole_files && !c.run.val_whole_files; }},
      {{"cache", "seek-index"}, ": the training images are read sequentially", streamed},
      {{"order"}, ": the training images are read sequentially", streamed},
      {{"sharded"},
       ": there is one host",
       [](Case c) { return c.run.world_size == c.run.local_world_size; },
       /*of_hosts=*/true},
      {{"size"},
       ": --size-schedule or --multi-scale sets the size of training images, and --val-size that "
       "of evaluation images",
       [](Case c) { return sized_by_epoch(c) && has_own_val_size(c); }},
      {{"size"},
       " in training: --size-schedule or --multi-scale sets the size; evaluation uses --size",
       [](Case c) { return sized_by_epoch(c) && !has_own_val_size(c); }},

      {{"strength-schedule"},
       ": RandAugment, AugMix, mixup, cutmix and dropout are all off",
       [](Case c) { return !has_strength(c); }},
      {{"mixup-prob", "mixup-switch-prob", "mixup-mode"},
       ": neither --mixup nor --cutmix is above 0",
       [](Case c) { return !mixes(c); }},
      {{"mixup-switch-prob"},
       ": --mixup and --cutmix are not both above 0",
       [](Case c) { return c.run.mix.mixup <= 0 || c.run.mix.cutmix <= 0; }},
      {{"random-erase-mode", "random-erase-count", "random-erase-area-min", "random-erase-area-max",
        "random-erase-ratio"},
       ": --random-erase is 0",
       [](Case c) { return c.run.mix.erase <= 0; }},

      {{"grayscale"}, ": with --channels 1, all images are grayscale", gray},
      {{"color-jitter"},
       " on saturation and hue: with --channels 1, images have no color",
       [](Case c) { return gray(c) && jitters_color(c); }},
      {{"auto-augment"}, " on color: with --channels 1, images have no color", gray},
      {{"crop-pct"},
       ": --val-resize sets the size before the crop",
       [](Case c) { return c.arguments.job.val_resize.has_value(); }},

      {{"epochs"},
       ": --time-budget sets the length of the run and of its schedule",
       [](Case c) {
         return c.run.time_budget > 0 && !c.run.open_ended && !schedule_counts_epochs(c);
       }},
      {{"epochs"},
       " on the length of the run: --time-budget sets it, and --epochs only scales --warmup-epochs "
       "and --decay-epochs",
       [](Case c) { return c.run.time_budget > 0 && !c.run.open_ended; }},
      {{"max-steps"},
       ": the run ends earlier, after --epochs",
       [](Case c) {
         return !c.run.open_ended && c.run.time_budget == 0 &&
                c.arguments.job.max_steps.value_or(0) > c.run.total_steps;
       }},
      {{"patience"},
       ": with --eval-every 0, only the end of the run is evaluated",
       [](Case c) { return c.run.eval_every == 0; }},
      {{"patience"}, ": the run has too few evaluations to reach it", patience_is_out_of_reach},
      of_optimizers<ops::kUsesMomentum>({"momentum"}),
      of_optimizers<ops::kUsesNesterov>({"nesterov"}),
      of_optimizers<ops::kUsesAlpha>({"alpha"}),
      of_optimizers<ops::kUsesBetas>({"beta1", "beta2"}),
      of_optimizers<ops::kUsesEps>({"eps"}),
      {{"bce-threshold", "bce-sum"},
       ": --loss is not bce",
       [](Case c) { return c.run.loss != train::Loss::binary; }},
      {{"label-smoothing"},
       ": without mixup and cutmix, --bce-threshold makes all targets 0 or 1",
       rounds_smoothing_away},
      {{"unfreeze-epoch"}, ": --freeze is none", [](Case c) { return c.run.freeze == "none"; }},
      {{"unfreeze-epoch"}, ": the run ends before that epoch (the first epoch is 0)", stays_frozen},
      {{"head-lr-scale", "layer-decay"},
       ": --freeze all-but-head trains the classifier alone; change --lr instead",
       [](Case c) { return c.run.freeze == "all-but-head" && stays_frozen(c); }},

      {{"warmup-epochs", "warmup-start"},
       ": --schedule onecycle has a warm-up of its own",
       [](Case c) { return schedule(c) == Schedule::one_cycle; }},
      {{"warmup-start"},
       ": --warmup-epochs is 0",
       [](Case c) { return c.run.schedule.warmup_epochs <= 0; }},
      {{"warmup-epochs"},
       " beyond --epochs: the learning rate rises until the run ends",
       [](Case c) { return c.run.schedule.warmup_epochs > c.run.epochs; }},
      {{"min-lr"},
       ": --schedule is neither cosine nor step",
       [](Case c) { return schedule(c) != Schedule::cosine && schedule(c) != Schedule::step; }},
      {{"decay-epochs", "decay-rate"},
       ": --schedule is not step",
       [](Case c) { return schedule(c) != Schedule::step; }},
      {{"decay-rate"},
       ": the run ends before the first drop after --decay-epochs",
       [](Case c) { return c.run.schedule.decay_epochs >= c.run.epochs; }},

      {{"backend"},
       ": there is one process",
       [](Case c) { return c.run.world_size == 1 && c.arguments.job.backend != "auto"; }},
      {{"batch-per-host"},
       ": there is one process on each host",
       [](Case c) { return c.run.local_world_size == 1; }},
      {{"collective-timeout"},
       ": there is one process, and no images come through a pipe",
       [](Case c) {
         return c.run.world_size == 1 && !c.run.train_streamed && !c.run.val_streamed;
       }},
      {{"sync-bn", "gradient-compression", "rendezvous-timeout", "health-check",
        "lost-host-timeout"},
       ": there is one process",
       [](Case c) { return c.run.world_size == 1; },
       /*of_hosts=*/true},
      {{"node-rank", "master-addr", "master-port"},
       ": --nnodes is 1",
       [](Case c) { return c.arguments.nodes.count == 1; }},
  };
}

}  // namespace

const std::vector<NoEffect>& no_effect_table() {
  static const std::vector<NoEffect> table = all_rows();
  return table;
}

void mark_effects(const Arguments& arguments, train::ResolvedJob& run) {
  const Circumstances circumstances{arguments, run};
  for (train::SavedSetting& setting : run.settings) {
    if (setting.may_differ == train::MayDiffer::always) continue;
    setting.effective = std::ranges::none_of(no_effect_table(), [&](const NoEffect& row) {
      // Skips rows whose text does not begin with ": ": they only limit the effect. Skips rows with
      // `of_hosts`: checkpoints store `effective`, which must not depend on the number of hosts.
      return row.why.starts_with(": ") && !row.of_hosts &&
             contains(row.options, with_dashes(setting.name)) && row.holds(circumstances);
    });
  }
}

std::string no_effect_of(const Option& option, const Circumstances& circumstances) {
  const Arguments& arguments = circumstances.arguments;
  const auto origin = arguments.origins.find(option.name);
  if (origin == arguments.origins.end() || !is_users(origin->second, arguments.config)) return "";
  if (is_off(option, arguments)) return "";
  for (const NoEffect& row : no_effect_table())
    if (contains(row.options, option.name) && row.holds(circumstances))
      return "--" + option.name + " has no effect" + row.why;
  return "";
}

std::vector<std::string> no_effect(const Circumstances& circumstances) {
  const Arguments& arguments = circumstances.arguments;
  std::vector<std::string> lines = arguments.ineffective;
  for (const Option& option : options()) {
    if (!option.is_for(arguments.command)) continue;
    if (std::string line = no_effect_of(option, circumstances); !line.empty())
      lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace shoal::app
