// shoal predict: classifies images.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <iostream>
#include <iterator>

#include "app/commands/commands.h"
#include "app/commands/evaluation/evaluation.h"
#include "app/commands/evaluation/predictions.h"
#include "app/commands/inputs/agreement.h"
#include "app/commands/inputs/output_file.h"
#include "app/commands/run_folders.h"
#include "app/commands/session.h"
#include "app/options/settings/implied_settings.h"
#include "app/platform/signals.h"
#include "base/file/whole_file.h"
#include "base/file/writable.h"
#include "base/log.h"
#include "data/container/image_extensions.h"
#include "data/sources/images.h"
#include "dist/gather.h"

namespace shoal::app {
namespace {

// Returns the lines of rank 0's standard input on every rank. Collective.
std::vector<std::string> lines_of_input(const dist::Group& group) {
  std::string text;
  if (group.rank() == 0) text.assign(std::istreambuf_iterator<char>(std::cin), {});
  dist::broadcast_text(group, text);
  return split(text, '\n');
}

// Opens the images that the positional arguments name. Collective.
std::shared_ptr<const data::Dataset> open_sources(const Arguments& arguments,
                                                  const dist::Communicator& communicator) {
  const std::vector<std::string>& sources = arguments.paths;
  if (sources.empty())
    throw UserError(
        "predict needs at least one image, folder, archive, packed set, record file or - (a list "
        "on standard input) after the weights");
  for (const std::string& source : sources) require_no_run(source);
  const auto lists = std::ranges::count(sources, "-");
  if (lists > 1) throw UserError("predict: - is given twice; standard input can be read only once");
  data::OpenOptions options;
  options.tfrecord_keys = arguments.job.tfrecord_keys;
  if (communicator.rank() == 0) options.warning = log::warning;
  const auto images = data::open_images(
      sources, options, lists > 0 ? lines_of_input(communicator.main) : std::vector<std::string>());
  check_same_listing(*images, "predict", joined(sources, " "), communicator);
  return images;
}

// If no option names the weights, moves the first positional argument to --weights. A single
// argument must look like weights. The first of several need not, because the weights may exist
// only on rank 0's host. Throws UserError if there are no weights.
void take_weights(Arguments& arguments) {
  train::Job& job = arguments.job;
  std::vector<std::string>& paths = arguments.paths;
  const bool may_be_weights = !paths.empty() && paths[0] != "-" &&
                              !data::has_image_extension(paths[0]) &&
                              (paths.size() > 1 || looks_like_weights(paths[0]));
  if (job.checkpoint.empty() && job.weights.empty() && may_be_weights) {
    job.weights = paths[0];
    paths.erase(paths.begin());
    imply_settings(arguments);
  }
  require_weights(arguments);
}

// Sets the format that the ending of --output selects. Throws UserError if an option selects
// another one.
void take_format(Arguments& arguments) {
  const std::string& output = arguments.predict_output;
  if (output == "-") throw UserError("--output -: omit --output to write to standard output");
  const std::string ending = std::filesystem::path(output).extension();
  const bool csv = ending == ".csv", json = ending == ".json" || ending == ".jsonl";
  if ((csv && arguments.json) || (json && arguments.csv))
    throw UserError("--output " + output + ": the ending " + ending + " contradicts " +
                    (csv ? "--json" : "--csv") + "; remove this option or change the ending");
  arguments.csv |= csv;
  arguments.json |= json;
}

}  // namespace

int predict_command(const Arguments& given) {
  Arguments arguments = given;
  const dist::Env env = dist::this_worker(dist::environment());
  begin(arguments.job, env);
  if (env.rank == 0) install_interruption_signals();
  if (arguments.csv && arguments.json) throw UserError("--csv and --json are both set; omit one");
  take_format(arguments);
  take_weights(arguments);
  Evaluation evaluation(arguments, env);
  const std::string& output = arguments.predict_output;
  dist::on_rank_0(evaluation.group(), [&] {
    if (output.empty()) return;
    require_no_checkpoint(output);
    for (const std::string& path : arguments.paths) require_not_input(output, path);
    require_writable_file("--output", output);
  });
  const auto images = open_sources(arguments, evaluation.communicator());
  Weights weights = open_weights(arguments, evaluation.group());
  take_class_names(arguments, weights);
  evaluation.open(weights, images);
  dist::on_rank_0(evaluation.group(), [&] {
    if (!output.empty()) require_not_input(output, weights.file);
  });
  const PredictionRows rows(arguments, weights.classes);
  if (env.rank == 0) log_origin(weights);
  if (const auto advice = class_names_advice(weights, "classes are printed as numbers");
      !advice.empty())
    log::info(advice);
  int64_t unreadable = 0, not_finite = 0;
  // Passes all rows to `write`, on rank 0 only. Collective.
  const auto classify = [&](const std::function<void(const std::string&)>& write) {
    if (env.rank == 0) write(rows.header());
    evaluation.classify(*weights.model, [&](const train::BatchResult* batch) {
      const std::string mine =
          rows_of(*batch, [&](const train::ImageResult& image, std::span<const float> logits) {
            const std::string name = evaluation.name(image.image);
            if (image.readable()) {
              if (!std::ranges::all_of(logits, [](float x) { return std::isfinite(x); }))
                ++not_finite;
              return rows.row(name, logits, "");
            }
            ++unreadable;
            return rows.row(name, {}, evaluation.damage().reason(name));
          });
      for (const std::string& text : dist::gather_text(evaluation.group(), mine))
        if (env.rank == 0) write(text);
    });
  };
  if (output.empty() || env.rank != 0) {
    classify([](const std::string& text) {
      if (!text.empty()) log::line(text.substr(0, text.size() - 1));  // line() adds a line break
    });
  } else {
    write_whole(output, [&](const ByteSink& sink) {
      classify([&](const std::string& text) { sink(text.data(), text.size()); });
    });
  }
  const int64_t all = dist::sum_numbers(evaluation.group(), unreadable);
  const int64_t diverged = dist::sum_numbers(evaluation.group(), not_finite);
  evaluation.end();
  if (env.rank == 0 && diverged > 0)
    log::warning(strf("the scores of %ld of %ld images are not finite: %s", diverged,
                      images->size(), train::kDiverged));
  if (env.rank != 0 || all == 0) return 0;
  const std::string sentence =
      strf("%ld of %ld images cannot be read; their rows say why", all, images->size());
  if (arguments.strict || all == images->size()) throw std::runtime_error(sentence);
  log::warning(sentence);
  return 0;
}

}  // namespace shoal::app
