// shoal eval: measures checkpoints or weights on labeled images.
#include <algorithm>
#include <filesystem>
#include <utility>

#include "app/commands/commands.h"
#include "app/commands/evaluation/eval_report.h"
#include "app/commands/evaluation/evaluation.h"
#include "app/commands/evaluation/loss_history.h"
#include "app/commands/evaluation/predictions.h"
#include "app/commands/local/run_list.h"
#include "app/commands/session.h"
#include "app/options/no_effect.h"
#include "app/options/settings/implied_settings.h"
#include "app/platform/signals.h"
#include "base/file/whole_file.h"
#include "base/file/writable.h"
#include "base/log.h"
#include "data/labels/real_labels.h"
#include "dist/gather.h"
#include "ops/places.h"
#include "train/report/sinks.h"

namespace shoal::app {
namespace {

// Evaluates the model. With --predictions, also writes the results of each batch to that file.
// Collective.
train::EvaluationReport run(const Arguments& arguments, models::Classifier& model,
                            Evaluation& evaluation) {
  if (arguments.eval.predictions.empty()) return evaluation.run(model);
  const PredictionFile file(arguments, evaluation.classes());
  train::EvaluationReport report;
  const auto evaluate = [&](const ByteSink& sink) {
    const auto write = [&](const std::string& text) { sink(text.data(), text.size()); };
    write(file.header());
    report = evaluation.run(model, [&](const train::BatchResult* batch) {
      std::string mine;
      if (batch)
        mine = rows_of(*batch, [&](const train::ImageResult& image, std::span<const float> logits) {
          const std::string name = evaluation.name(image.image);
          return file.row(name, image, logits, evaluation.damage().reason(name));
        });
      for (const std::string& text : dist::gather_text(evaluation.group(), mine)) write(text);
    });
  };
  if (evaluation.group().rank() == 0)
    write_whole(arguments.eval.predictions, evaluate);
  else
    evaluate([](const void*, size_t) {});
  return report;
}

// Opens the file of --real-labels, and checks that it contains every image.
std::optional<data::RealLabels> open_real_labels(const Arguments& arguments,
                                                 const Evaluation& evaluation) {
  const std::string& file = arguments.eval.real_labels;
  if (file.empty()) return std::nullopt;
  if (!std::filesystem::exists(file)) throw UserError("--real-labels " + file + " does not exist");
  const data::Dataset* const images = data::as_dataset(evaluation.images());
  if (!images)
    throw UserError(
        "--real-labels needs images with names; give files instead of a pipe, and add "
        "--no-forward-reads");
  try {
    data::RealLabels labels(file, evaluation.classes(), evaluation.job().model.classes);
    for (int64_t i = 0; i < images->size(); ++i) labels.of(images->name(i));
    return labels;
  } catch (const std::invalid_argument& error) {
    throw UserError(std::string("--real-labels ") + error.what());
  }
}

// Counts, over all ranks, the images with and without labels in `labels`, and the images whose
// top-1 prediction is one of their labels. Collective.
RealAccuracy real_accuracy(const data::RealLabels& labels, const train::EvaluationReport& report,
                           const Evaluation& evaluation) {
  RealAccuracy mine;
  for (const train::ImageResult& image : report.images) {
    if (image.rank != evaluation.group().rank() || !image.readable()) continue;
    const std::vector<int32_t>& right = labels.of(evaluation.name(image.image));
    ++(right.empty() ? mine.without : mine.images);
    mine.correct += std::ranges::count(right, image.classes[0]) > 0 ? 1 : 0;
  }
  RealAccuracy all;
  for (int64_t RealAccuracy::*count :
       {&RealAccuracy::images, &RealAccuracy::correct, &RealAccuracy::without})
    all.*count = dist::sum_numbers(evaluation.group(), mine.*count);
  return all;
}

void warn_forward_reads(const Arguments& arguments, const Evaluation& evaluation) {
  const Option& option = *find_option(Command::eval, "forward-reads");
  if (const auto line = no_effect_of(option, {arguments, evaluation.job()}); !line.empty())
    log::warning(line);
}

// Opens and evaluates one set of weights. With --suspects, adds the losses of the images to
// `losses` and, if this is the last set of weights (`last`), lists the images with the highest mean
// losses. Collective.
EvaluatedWeights evaluate_one(const Arguments& arguments, Evaluation& evaluation,
                              LossHistory& losses, bool last) {
  const Weights weights = open_weights(arguments, evaluation.group());
  evaluation.open(weights);
  if (evaluation.group().rank() == 0) log_origin(weights);
  const int64_t outputs = evaluation.job().model.classes;
  if (outputs < ops::kTop5) log::info(train::top5_note(outputs));
  if (last && evaluation.group().rank() == 0) warn_forward_reads(arguments, evaluation);
  const auto real = open_real_labels(arguments, evaluation);
  EvaluatedWeights evaluated{weights.file,
                             weights.job.model.name,
                             weights.ema,
                             run(arguments, *weights.model, evaluation),
                             evaluation.classes(),
                             {},
                             {}};
  train::EvaluationReport& report = evaluated.report;
  report.epoch = report.finished_epochs = weights.epoch;
  report.step = weights.step;
  report.ema = weights.ema;
  if (real) evaluated.real = real_accuracy(*real, report, evaluation);
  if (const int64_t suspects = arguments.eval.suspects; suspects > 0) {
    losses.add(report.images);
    if (last) {
      const auto places = losses.suspects(report.images, static_cast<size_t>(suspects));
      evaluated.suspects = evaluation.named(report, places);
    }
  }
  report.images = {};  // frees memory
  return evaluated;
}

// Returns a copy of the arguments for each positional path, with the path as --weights. Without
// paths, returns the arguments as they are. Throws UserError if paths are given together with
// --checkpoint or --weights, or several paths with an option that needs a single checkpoint.
std::vector<Arguments> one_by_one(const Arguments& arguments) {
  if (arguments.paths.empty()) return {arguments};
  const train::Job& job = arguments.job;
  if (!job.checkpoint.empty() || !job.weights.empty())
    throw UserError(
        "eval: give checkpoints either as arguments or with --checkpoint or --weights, not both");
  const EvalOptions& eval = arguments.eval;
  if (arguments.paths.size() > 1)
    for (const auto& [option, value] :
         {std::pair("--output", &eval.output), std::pair("--predictions", &eval.predictions)})
      if (!value->empty())
        throw UserError(std::string(option) +
                        " needs a single checkpoint; evaluate them one after the other");
  if (arguments.paths.size() > 1 && eval.details && !arguments.json)
    throw UserError("--details needs a single checkpoint; for several checkpoints, add --json");
  std::vector<Arguments> all;
  for (const std::string& path : arguments.paths) {
    all.push_back(arguments);
    all.back().job.weights = path;
    imply_settings(all.back());
  }
  return all;
}

// Throws UserError if `folder` cannot be written, or if it is a run's folder that contains
// evaluation.json. That file describes the run's best evaluation and must not be replaced.
void require_output_folder(const std::filesystem::path& folder) {
  require_writable_folder("--output", folder);
  std::error_code none;
  if (has_run_results(folder) && std::filesystem::exists(folder / train::kEvaluationFile, none))
    throw UserError("--output " + folder.string() + " is the folder of a run, whose " +
                    train::kEvaluationFile + " would be replaced; choose another folder");
}

}  // namespace

int eval_command(const Arguments& arguments) {
  const dist::Env env = dist::this_worker(dist::environment());
  begin(arguments.job, env);
  if (env.rank == 0) install_interruption_signals();
  const std::vector<Arguments> each = one_by_one(arguments);
  const EvalOptions& eval = arguments.eval;
  if (!eval.predictions.empty()) PredictionFile(arguments, {});  // rejects unknown extensions
  if (arguments.logits && eval.predictions.empty())
    throw UserError("--logits has no effect without --predictions FILE");
  Evaluation evaluation(arguments, env);
  dist::on_rank_0(evaluation.group(), [&] {
    if (!eval.output.empty()) require_output_folder(eval.output);
    if (!eval.predictions.empty()) require_writable_file("--predictions", eval.predictions);
  });
  // Opens all weights once, so that weights that cannot be opened stop the command before the first
  // evaluation.
  if (each.size() > 1)
    for (const Arguments& one : each) open_weights(one, evaluation.group());
  std::vector<EvaluatedWeights> all;
  LossHistory losses(is_sharded(arguments.job, "val"));
  for (size_t i = 0; i < each.size(); ++i)
    all.push_back(evaluate_one(each[i], evaluation, losses, i + 1 == each.size()));
  evaluation.end();
  if (env.rank != 0) return 0;
  if (all.size() > 1) {
    print_comparison(arguments, all);
  } else {
    print_evaluation(arguments, all.front());
  }
  if (!eval.output.empty()) {
    create_folders(eval.output);
    train::write_evaluation(eval.output, all.front().report, all.front().classes);
  }
  return 0;
}

}  // namespace shoal::app
