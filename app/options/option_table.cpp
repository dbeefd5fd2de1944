// The rows of the table of options. The order here is the order of --help.
#include "app/options/option_groups.h"
#include "app/options/option_row.h"
#include "app/options/options.h"

namespace shoal::app {
namespace {

using train::OptimizerOptions;
using train::Precision;
using train::ScheduleOptions;

Option help_row() {
  Option option =
      row("help", ~0u, "all|WORD",
          "show the common options, all of them, or those that mention WORD", FIELD(help));
  option.kind = Kind::optional_value;
  option.unset = "none";
  option.bare = kCommonHelp;
  return option;
}

// The hyphens of other programs' names (efficientnet-b4) are underscores here.
template <class Field>
Option model_row(unsigned commands, std::string help, Field field) {
  Option option = row("model", commands, "NAME", std::move(help), field);
  option.set = [field](Arguments& arguments, const std::string& text) {
    std::string& name = field(arguments);
    store(name, text);
    for (char& c : name) c = c == '-' ? '_' : c;
  };
  return option;
}

Option amp_row() {
  Option option = choice<Precision>(
      "amp", kTrain | kCommon,
      "arithmetic of the network: 32 bit or bfloat16; alone: bf16 (fp16 is refused)",
      {{"off", Precision::off}, {"bf16", Precision::bf16}, {"fp16", Precision::fp16}},
      FIELD(job.amp));
  option.kind = Kind::optional_value;
  option.bare = "bf16";
  option.off = "off";
  return option;
}

void add_model(std::vector<Option>& table) {
  add(table, "Model",
      {model_row(kTrain | kCommon, "network to train; `shoal models` lists them",
                 FIELD(job.model.name)),
       unset_means(
           "the one that the file names",
           model_row(kEval | kPredict, "network that --weights are for; `shoal models` lists them",
                     FIELD(weights_model))),
       unset_means("random weights",
                   row("weights", kRun | kCommon, "PATH",
                       "weights to start from (eval, predict: to use): a checkpoint, a run, or a "
                       "file of another program (.pth, .pth.tar, safetensors); `pretrained`: the "
                       "channel of that name",
                       FIELD(job.weights))),
       unset_means("the averaged weights, where there are any",
                   row("weights-entry", kRun, "NAME",
                       "entry of the --weights file to take, where it holds several sets of "
                       "weights: model, model_ema, state_dict_ema, …",
                       FIELD(job.weights_entry))),
       unset_means("the model's own", row("drop-path", kTrain, "P",
                                          "stochastic depth of the last block, from 0 to below 1",
                                          FIELD(job.model.drop_path))
                                          .off_is("0")),
       unset_means("the model's own",
                   row("dropout", kTrain, "P", "dropout before the classifier, from 0 to below 1",
                       FIELD(job.model.dropout))
                       .off_is("0")),
       row("sync-bn", kTrain, "", "batch-norm statistics over all processes", FIELD(job.sync_bn))});
}

void add_length(std::vector<Option>& table) {
  add(table, "Length and batch",
      {row("epochs", kTrain | kCommon, "N", "passes over the training images", FIELD(job.epochs)),
       unset_means("no limit", row("max-steps", kTrain, "N",
                                   "stop after N updates; the schedule still spans --epochs",
                                   FIELD(job.max_steps))
                                   .off_is("none")),
       unset_means("32, or the share of the global batch",
                   row("batch-size", kTrain | kEval | kCommon, "N",
                       "images per process and forward pass", FIELD(job.batch_size))),
       unset_means("batch-size × processes × accumulate",
                   row("global-batch-size", kTrain, "N", "images per update, over all processes",
                       FIELD(job.global_batch_size))),
       row("accumulate", kTrain, "N",
           "forward passes per update; follows when both batch sizes are given",
           FIELD(job.accumulate)),
       row("batch-per-host", kTrain, "",
           "--batch-size and --workers are those of a host, shared by its processes",
           FIELD(job.batch_per_host))});
}

void add_optimizer(std::vector<Option>& table) {
  using Kind = OptimizerOptions::Kind;
  add(table, "Optimizer",
      {choice<Kind>("optimizer", kTrain | kCommon, "SGD, RMSprop as TensorFlow has it, or AdamW",
                    {{"sgd", Kind::sgd}, {"rmsprop", Kind::rmsprop}, {"adamw", Kind::adamw}},
                    FIELD(job.optimizer.kind)),
       row("momentum", kTrain, "X", "of sgd and rmsprop, from 0 to below 1",
           FIELD(job.optimizer.momentum))
           .off_is("0"),
       row("nesterov", kTrain, "", "sgd looks ahead", FIELD(job.optimizer.nesterov)),
       row("weight-decay", kTrain, "X", "pull towards zero; never on biases and batch norm",
           FIELD(job.optimizer.weight_decay))
           .off_is("0"),
       row("alpha", kTrain, "X", "rmsprop: how slowly the mean square forgets, below 1",
           FIELD(job.optimizer.alpha)),
       row("beta1", kTrain, "X", "adamw: how slowly the mean gradient forgets, below 1",
           FIELD(job.optimizer.beta1)),
       row("beta2", kTrain, "X", "adamw: how slowly the mean square forgets, below 1",
           FIELD(job.optimizer.beta2)),
       unset_means("0.001 for rmsprop, 1e-8 for adamw",
                   row("eps", kTrain, "X", "keeps the division of rmsprop and adamw finite",
                       FIELD(job.optimizer.eps))),
       row("clip", kTrain, "NORM", "largest L2 norm of all gradients together; 0: no limit",
           FIELD(job.optimizer.clip))
           .off_is("0"),
       row("label-smoothing", kTrain, "X",
           "share of the target spread over all classes, from 0 to below 1",
           FIELD(job.label_smoothing))
           .off_is("0"),
       unset_means("no average",
                   row("ema", kTrain, "DECAY",
                       "keep averaged weights; decay per update, below 1 (0.9999)", FIELD(job.ema))
                       .off_is("none")),
       amp_row(),
       row("non-finite-limit", kTrain, "N",
           "updates in a row with a non-finite loss before the run stops",
           FIELD(job.non_finite_limit)),
       choice<train::OnSpike>(
           "on-spike", kTrain,
           "when the loss jumps: say so; also save a checkpoint; or go back to the last good one "
           "and skip the images since",
           {{"log", train::OnSpike::log},
            {"checkpoint", train::OnSpike::checkpoint},
            {"rollback", train::OnSpike::rollback}},
           FIELD(job.on_spike)),
       row("spike-ratio", kTrain, "X",
           "loss as a multiple of its running median that counts as a jump",
           FIELD(job.spike_ratio)),
       row("seed", kTrain, "N", "of weights, order, augmentation and dropout", FIELD(job.seed))});
}

void add_schedule(std::vector<Option>& table) {
  using Kind = ScheduleOptions::Kind;
  add(table, "Learning rate",
      {row("lr", kTrain | kCommon, "X", "highest learning rate, for the global batch",
           FIELD(job.schedule.lr)),
       unset_means("lr is used as it is",
                   row("scale-lr", kTrain, "N",
                       "lr is meant for a global batch of N and scaled linearly from it",
                       FIELD(job.scale_lr))
                       .off_is("none")),
       choice<Kind>("schedule", kTrain | kCommon, "how the rate changes, update by update",
                    {{"constant", Kind::constant},
                     {"cosine", Kind::cosine},
                     {"step", Kind::step},
                     {"onecycle", Kind::one_cycle}},
                    FIELD(job.schedule.kind)),
       row("warmup-epochs", kTrain | kCommon, "N", "epochs of linear rise at the start",
           FIELD(job.schedule.warmup_epochs))
           .off_is("0"),
       row("warmup-start", kTrain, "SHARE", "first rate as a share of lr",
           FIELD(job.schedule.warmup_start)),
       row("min-lr", kTrain, "X", "rate that cosine falls to and step never goes below",
           FIELD(job.schedule.min_lr)),
       row("decay-epochs", kTrain, "N", "step: epochs between two drops",
           FIELD(job.schedule.decay_epochs)),
       row("decay-rate", kTrain, "X", "step: factor of each drop",
           FIELD(job.schedule.decay_rate))});
}

void add_general(std::vector<Option>& table) {
  add(table, "General",
      {unset_means("none",
                   row("recipe", kTrain | kCommon, "NAME",
                       "start from a named set of options; `list` shows them", FIELD(recipe))
                       .off_is("none")),
       row("strict-hyperparameters", kTrain, "",
           "a hyperparameter that no option knows is an error", FIELD(strict_hyperparameters)),
       help_row()});
}

std::vector<Option> build() {
  std::vector<Option> table;
  add_general(table);
  add_data(table);
  add_augmentation(table);
  add_model(table);
  add_length(table);
  add_optimizer(table);
  add_schedule(table);
  add_machine(table);
  add_output(table);
  add_packing(table);
  add_measuring(table);
  return table;
}

}  // namespace

const std::vector<Option>& options() {
  static const std::vector<Option> table = build();
  return table;
}

}  // namespace shoal::app
