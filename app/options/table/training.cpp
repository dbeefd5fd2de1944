// Rows of the option table for the sections "General", "Model" and "Length and batch". build()
// joins the rows of all files in the order of --help.
#include "app/options/option_row.h"
#include "app/options/options.h"
#include "app/options/table/groups.h"

namespace shoal::app {
namespace {

using train::MayDiffer;

Option help_row() {
  Option option =
      row("help", ~0u, "all|WORD",
          "Show the common options, all options, or the options that mention WORD", FIELD(help))
          .unset_is("none");
  option.kind = Kind::optional_value;
  option.bare = kCommonHelp;
  return std::move(option).short_form('h');
}

// Row of --model. Turns hyphens into underscores: other programs write efficientnet-b4.
template <class Field>
Option model_row(unsigned commands, std::string help, Field field) {
  Option option = row("model", commands, "NAME", std::move(help), field);
  option.set = [field](Arguments& arguments, const std::string& text) {
    std::string& name = field.in(arguments);
    store(name, text);
    for (char& c : name) c = c == '-' ? '_' : c;
  };
  return option;
}

Option batch_size_row() {
  const std::string size = std::to_string(train::kDefaultBatchSize);
  Option option = row("batch-size", kRanks | kAverage | kBench | kCommon, "N|auto",
                      "Images per process and forward pass; auto (train, bench): fill the memory",
                      JOB(batch_size))
                      .unset_is(size)
                      .default_in(kTrain, size + ", or computed from --global-batch-size")
                      .default_in(kPredict, size + ", or fewer for few images")
                      .within(1, 1 << 20);
  option.set = [](Arguments& arguments, const std::string& text) {
    train::Job& job = arguments.job;
    job.fit_batch_size = text == "auto";
    job.batch_size.reset();
    try {
      if (!job.fit_batch_size) store(job.batch_size, text);
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument(std::string(error.what()) + " or auto");
    }
  };
  option.get = [](const Arguments& arguments) -> std::string {
    const train::Job& job = arguments.job;
    return job.fit_batch_size ? "auto" : job.batch_size ? text_of(*job.batch_size) : "";
  };
  return option;
}

Option compression_row() {
  using train::Precision;
  return choice<Precision>("gradient-compression", kTrain | kBench,
                           "Data type for exchanging gradients: off (float32) or bf16 (bfloat16, "
                           "half the traffic; sums are computed in float32)",
                           {{"off", Precision::off}, {"bf16", Precision::bf16}},
                           JOB(gradient_compression))
      .in_bench({"scaling"})
      .off_is("off")
      .of_training()
      .changes_results();
}

void add_model(std::vector<Option>& table) {
  add(table, "Model",
      {model_row(kTrain | kBench | kCommon, "Network to train; `shoal models` lists them",
                 JOB(model.name))
           .in_bench({"step", "scaling"})
           .changes_results(MayDiffer::never, kStartAnew)
           .of_evaluation(),
       model_row(kEval | kPredict | kExport | kAverage,
                 "Network the weights are for; see `shoal models`", FIELD(weights_model))
           .unset_is("detected from the weights"),
       row("layers", kModels, "NAME",
           "List the layers of this network: output shapes, parameters, multiply-adds, stages",
           FIELD(layers))
           .unset_is("list the networks"),
       row("weights", kRun | kAverage | kInspect | kCommon, "WHAT",
           "Weights and network to load: a run, file, URL or name (`shoal weights` lists "
           "names); see docs/training.md",
           JOB(weights))
           .unset_is("none")
           .default_in(kTrain, "random weights")
           .changes_results(),
       row("weights-cache", kRun | kAverage | kInspect | kWeightsCommand, "DIR",
           "Folder for downloaded weights", FIELD(weights_cache))
           .unset_is("$SHOAL_CACHE/weights if set; else, on SageMaker with a warm pool, "
                     "shoal/weights in the warm pool's folder; else "
                     "$XDG_CACHE_HOME/shoal/weights or ~/.cache/shoal/weights"),
       row("weights-entry", kRun, "NAME",
           "Entry to use if the --weights file has several sets of weights: model, model_ema, "
           "state_dict_ema, …",
           JOB(weights_entry))
           .unset_is("the averaged weights, if any"),
       row("load-partial", kTrain, "",
           "Load only the tensors of --weights that match the network by name and shape; "
           "initialize the others randomly",
           JOB(load_partial))
           .of_training(),
       row("drop-path", kTrain, "P",
           "Stochastic depth: block i of n (counted from 0) is skipped with probability P * i / n",
           JOB(model.drop_path))
           .unset_is("the model's own")
           .from_below(0, 1)
           .off_is("0")
           .of_training()
           .changes_results(),
       row("dropout", kTrain, "P", "Dropout probability before the classifier", JOB(model.dropout))
           .unset_is("the model's own")
           .from_below(0, 1)
           .off_is("0")
           .of_training()
           .changes_results(),
       row("sync-bn", kTrain, "", "Compute batch normalization statistics over all processes",
           JOB(sync_bn))
           .of_training()
           .changes_results(),
       compression_row()});
}

void add_length(std::vector<Option>& table) {
  add(table, "Length and batch",
      {row("epochs", kTrain | kCommon, "N", "Passes over the training images; 0.5: half a pass",
           JOB(epochs))
           .above(0, 1e6)
           .of_training()
           .changes_results(),
       row("max-steps", kTrain, "N",
           "Stop after N steps; the learning rate schedule still spans --epochs, but it spans "
           "these N steps if images come through pipes and neither --train-samples nor "
           "--steps-per-epoch is given",
           JOB(max_steps))
           .unset_is("no limit")
           .at_least(1)
           .of_training()
           .off_is("none"),
       row("eval-every", kTrain, "N",
           "Evaluate after every Nth epoch and at the end of the run; 0: only at the end",
           JOB(eval_every))
           .also_called({"val-interval", "eval-interval", "check-val-every-n-epoch"})
           .at_least(0)
           .off_is("0")
           .of_training()
           .changes_results(),
       row("patience", kTrain, "N",
           "End the run after N evaluations in a row without a better top-1 accuracy; 0: never",
           JOB(patience))
           .also_called({"early-stopping", "early-stop-patience"})
           .at_least(0)
           .off_is("0")
           .of_training()
           .changes_results(),
       duration_row(
           "time-budget", kTrain,
           "End the run after this time, in seconds (1800) or as 30m or 1h30m; includes "
           "evaluations; the learning rate schedule spans this time, not --epochs; 0: no limit",
           JOB(time_budget))
           .also_called({"max-time", "max-duration"})
           .off_is("0")
           .of_training()
           .changes_results(),
       batch_size_row(),
       row("global-batch-size", kTrain, "N", "Images per step, over all processes",
           JOB(global_batch_size))
           .unset_is("batch-size × processes × accumulate")
           .within(1, 1 << 24)
           .changes_results(MayDiffer::never,
                            "add --global-batch-size {} (the run can continue with any number of "
                            "processes that divides it)")
           .replaced_by("batch-size"),
       row("accumulate", kTrain, "N",
           "Forward passes per step (gradient accumulation); computed if --batch-size and "
           "--global-batch-size are given",
           JOB(accumulate))
           .within(1, 1 << 16)
           .changes_results(),
       row("batch-per-host", kTrain, "",
           "Treat --batch-size and --workers as totals per host and split them among its "
           "processes; --nproc then defaults to one per GPU",
           JOB(batch_per_host))});
}

void add_general(std::vector<Option>& table) {
  add(table, "General",
      {row("recipe", kTrain | kCommon, "NAME",
           "Take defaults from a recipe; `list` prints all recipes", FIELD(recipe))
           .unset_is("none")
           .off_is("none"),
       row("config", ~kCommon, "FILE",
           "Read options from a TOML or YAML file (also timm's args.yaml); the command line and "
           "SageMaker's hyperparameters take precedence",
           FIELD(config))
           .unset_is("none"),
       row("strict-hyperparameters", kTrain, "",
           "SageMaker: stop with an error if a hyperparameter is unknown, instead of ignoring it",
           FIELD(strict_hyperparameters)),
       help_row()});
}

std::vector<Option> build() {
  std::vector<Option> table;
  add_general(table);
  add_data(table);
  add_preprocessing(table);
  add_small_data(table);
  add_augmentation(table);
  add_model(table);
  add_length(table);
  add_optimizer(table);
  add_schedule(table);
  add_machine(table);
  add_output(table);
  add_results(table);
  add_export(table);
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
