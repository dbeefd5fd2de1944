// Rows of the option table for the sections Optimizer and Learning rate.
#include "app/options/optimizer_names.h"
#include "app/options/option_row.h"
#include "app/options/table/groups.h"

namespace shoal::app {

using train::MayDiffer;
using train::OptimizerOptions;
using train::Precision;
using train::ScheduleOptions;

namespace {

Option amp_row() {
  Option option =
      choice<Precision>("amp", kTrain | kBench | kCommon,
                        "Precision of the network's computation: off (float32) or bf16 (bfloat16); "
                        "without a value: bf16",
                        {{"off", Precision::off}, {"bf16", Precision::bf16}}, JOB(amp))
          .in_bench({"step", "scaling"})
          .refuses("fp16", "bf16 is as fast and needs no loss scaling")
          .also_called({"fp16", "half", "bf16"})
          .changes_results()
          .of_evaluation();
  option.kind = Kind::optional_value;
  option.bare = "bf16";
  option.off = "off";
  return option;
}

Option freeze_row() {
  Option option =
      row("freeze", kTrain, "N|STAGE",
          "Layers to freeze: N (the first N stages), STAGE (all stages up to and "
          "including it; `shoal models --layers NAME` lists them), all-but-head, or none",
          JOB(freeze))
          .off_is("none")
          .of_training()
          .changes_results();
  option.set = [](Arguments& arguments, const std::string& text) {
    int64_t count = 0;
    try {
      store(count, text);  // also accepts 3.0
      arguments.job.freeze = text_of(count);
    } catch (const std::invalid_argument&) {
      store(arguments.job.freeze, text);
    }
  };
  return option;
}

// Row of --ema. Without an average, the resolved value is "off" instead of "none", because existing
// checkpoints contain "off".
Option ema_row() {
  Option option = row("ema", kTrain | kBench, "DECAY",
                      "Decay per step of an EMA (exponential moving average) of the weights, "
                      "typically 0.9999; the EMA is exported",
                      JOB(ema))
                      .in_bench({"step", "scaling"})
                      .unset_is("no average")
                      .from_below(0, 1)
                      .off_is("none")
                      .changes_results()
                      .of_evaluation();
  option.resolved = [text = option.resolved](const train::ResolvedJob& job) -> std::string {
    return job.ema == 0 ? "off" : text(job);
  };
  return option;
}

// Row of --optimizer.
Option optimizer_row() {
  std::vector<std::pair<std::string, OptimizerOptions::Kind>> values;
  std::vector<std::string> descriptions;
  for (const ops::OptimizerInfo& info : ops::kOptimizers) {
    values.push_back({info.name, info.kind});
    descriptions.push_back(info.title);
    if (*info.variant != '\0') descriptions.back() += std::string(" (") + info.variant + ")";
  }
  return choice<OptimizerOptions::Kind>("optimizer", kTrain | kBench | kCommon,
                                        alternatives(descriptions), values, JOB(optimizer.kind))
      .in_bench({"step", "scaling"})
      .of_training()
      .changes_results(MayDiffer::never, kStartAnew);
}

// Row of --bce-threshold. Without a threshold, the resolved value is "none".
Option bce_threshold_row() {
  Option option = row("bce-threshold", kTrain, "X",
                      "Binary cross-entropy: replace targets above X by 1 and all others by 0",
                      JOB(bce_threshold))
                      .unset_is("none")
                      .from_below(0, 1)
                      .off_is("none")
                      .of_training()
                      .changes_results();
  option.resolved = [](const train::ResolvedJob& job) -> std::string {
    return job.bce_threshold < 0 ? "none" : text_of(job.bce_threshold);
  };
  return option;
}

// Returns the start of an option's help: the optimizers that use it, such as "SGD, RMSprop: ".
std::string for_optimizers(unsigned uses) {
  return joined(optimizers_with(uses, &ops::OptimizerInfo::title)) + ": ";
}

// Returns the defaults of --eps: "0.001 for rmsprop, 1e-8 for adamw".
std::string eps_defaults() {
  std::vector<std::string> defaults;
  for (const ops::OptimizerInfo& info : ops::kOptimizers) {
    if (!(info.uses & ops::kUsesEps)) continue;
    defaults.push_back(readable(number(info.eps)) + " for " + info.name);
  }
  return joined(defaults);
}

}  // namespace

void add_optimizer(std::vector<Option>& table) {
  add(table, "Optimizer",
      {optimizer_row(),
       row("momentum", kTrain, "X", for_optimizers(ops::kUsesMomentum) + "momentum coefficient",
           JOB(optimizer.momentum))
           .from_below(0, 1)
           .off_is("0")
           .of_training()
           .changes_results(),
       row("nesterov", kTrain, "", for_optimizers(ops::kUsesNesterov) + "use Nesterov momentum",
           JOB(optimizer.nesterov))
           .of_training()
           .changes_results(),
       row("weight-decay", kTrain, "X",
           "Weight decay (" + for_optimizers(ops::kL2Decay) + "L2 term; " +
               for_optimizers(ops::kDecoupledDecay) +
               "decoupled); not applied to biases and normalization parameters",
           JOB(optimizer.weight_decay))
           .at_least(0)
           .off_is("0")
           .of_training()
           .changes_results(),
       row("alpha", kTrain, "X",
           for_optimizers(ops::kUsesAlpha) + "decay rate of the mean squared gradient",
           JOB(optimizer.alpha))
           .from_below(0, 1)
           .of_training()
           .changes_results(),
       row("beta1", kTrain, "X", for_optimizers(ops::kUsesBetas) + "decay rate of the first moment",
           JOB(optimizer.beta1))
           .from_below(0, 1)
           .of_training()
           .changes_results(),
       row("beta2", kTrain, "X",
           for_optimizers(ops::kUsesBetas) + "decay rate of the second moment",
           JOB(optimizer.beta2))
           .from_below(0, 1)
           .of_training()
           .changes_results(),
       row("eps", kTrain, "X",
           for_optimizers(ops::kUsesEps) +
               "epsilon, added to the denominator for numerical stability",
           JOB(optimizer.eps))
           .unset_is(eps_defaults())
           .above(0)
           .of_training()
           .changes_results(),
       row("clip", kTrain, "NORM", "Clip gradients to this global L2 norm; 0: no clipping",
           JOB(optimizer.clip))
           .at_least(0)
           .off_is("0")
           .of_training()
           .changes_results(),
       choice<train::Loss>("loss", kTrain,
                           "Training loss: ce (cross-entropy of the softmax) or bce (binary "
                           "cross-entropy of each class); evaluations use ce",
                           {{"ce", train::Loss::cross_entropy}, {"bce", train::Loss::binary}},
                           JOB(loss))
           .also_called({"criterion", "loss-fn"})
           .of_training()
           .changes_results(MayDiffer::never, kStartAnew),
       bce_threshold_row(),
       row("bce-sum", kTrain, "",
           "Binary cross-entropy: sum the loss over the classes instead of averaging it",
           JOB(bce_sum))
           .of_training()
           .changes_results(MayDiffer::never, kStartAnew),
       row("label-smoothing", kTrain, "X",
           "Label smoothing: fraction of the target probability spread evenly over all classes",
           JOB(label_smoothing))
           .from_below(0, 1)
           .off_is("0")
           .of_training()
           .changes_results(),
       ema_row(),
       amp_row(),
       freeze_row(),
       row("unfreeze-epoch", kTrain, "N",
           "Epoch, counted from 0, from which the layers of --freeze are trained too; 0: never",
           JOB(unfreeze_epoch))
           .at_least(0)
           .off_is("0")
           .of_training()
           .changes_results(),
       row("freeze-bn", kTrain, "",
           "Freeze weights and running statistics of all batch norm layers", JOB(freeze_bn))
           .of_training()
           .changes_results(),
       row("head-lr-scale", kTrain, "X", "Multiply the learning rate of the classifier by X",
           JOB(head_lr_scale))
           .above(0)
           .of_training()
           .changes_results(),
       row("layer-decay", kTrain, "X",
           "Layer-wise decay: a block's learning rate is X times that of the block after it",
           JOB(layer_decay))
           .above(0, 1)
           .of_training()
           .changes_results(),
       row("non-finite-limit", kTrain, "N",
           "Stop the run after N consecutive steps with a non-finite loss or gradient",
           JOB(non_finite_limit))
           .at_least(1)
           .of_training(),
       choice<train::OnSpike>(
           "on-spike", kTrain,
           "What to do if the loss spikes: log (only log it), checkpoint (also save a checkpoint) "
           "or "
           "rollback (restore the newest intact checkpoint from before the spike and skip the "
           "images used since then)",
           {{"log", train::OnSpike::log},
            {"checkpoint", train::OnSpike::checkpoint},
            {"rollback", train::OnSpike::rollback}},
           JOB(on_spike))
           .of_training()
           .changes_results(),
       row("spike-ratio", kTrain, "X", "Treat a loss above X times its running median as a spike",
           JOB(spike_ratio))
           .within(1.01, 1000)
           .of_training()
           .changes_results(),
       row("seed", kTrain, "N",
           "Random seed for initial weights, image order, augmentation and dropout", JOB(seed))
           .changes_results(MayDiffer::never, kStartAnew)});
}

void add_schedule(std::vector<Option>& table) {
  using Kind = ScheduleOptions::Kind;
  add(table, "Learning rate",
      {row("lr", kTrain | kCommon, "X", "Peak learning rate for the global batch", JOB(schedule.lr))
           .above(0)
           .of_training()
           .changes_results()
           .replaced_by("scale-lr"),
       row("scale-lr", kTrain, "N",
           "Global batch size that --lr was tuned for; scales --lr linearly to the actual global "
           "batch size",
           JOB(scale_lr))
           .unset_is("--lr is not scaled")
           .within(1, 1 << 24)
           .of_training()
           .off_is("none"),
       choice<Kind>("schedule", kTrain | kCommon, "Learning rate schedule, updated every step",
                    {{"constant", Kind::constant},
                     {"cosine", Kind::cosine},
                     {"step", Kind::step},
                     {"onecycle", Kind::one_cycle}},
                    JOB(schedule.kind))
           .also_called({"lr-scheduler"})
           .of_training()
           .changes_results(),
       row("warmup-epochs", kTrain | kCommon, "N", "Epochs of linear learning rate warm-up",
           JOB(schedule.warmup_epochs))
           .at_least(0)
           .off_is("0")
           .of_training()
           .changes_results(),
       row("warmup-start", kTrain, "FRACTION",
           "Learning rate at the start of the warm-up, as a fraction of --lr",
           JOB(schedule.warmup_start))
           .within(0, 1)
           .of_training()
           .changes_results(),
       row("min-lr", kTrain, "X", "Cosine: final learning rate; step: lower limit",
           JOB(schedule.min_lr))
           .at_least(0)
           .of_training()
           .changes_results(),
       row("decay-epochs", kTrain, "N",
           "Step schedule: epochs between two drops of the learning rate",
           JOB(schedule.decay_epochs))
           .above(0)
           .of_training()
           .changes_results(),
       row("decay-rate", kTrain, "X",
           "Step schedule: factor by which each drop multiplies the learning rate",
           JOB(schedule.decay_rate))
           .above(0, 1)
           .of_training()
           .changes_results()});
}

}  // namespace shoal::app
