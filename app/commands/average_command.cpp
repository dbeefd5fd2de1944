// shoal average: averages the weights of several checkpoints of one model.
#include <algorithm>
#include <filesystem>
#include <utility>

#include "app/commands/commands.h"
#include "app/commands/evaluation/evaluation.h"
#include "app/commands/inputs/weights.h"
#include "app/commands/printable_row.h"
#include "app/commands/session.h"
#include "app/options/settings/implied_settings.h"
#include "app/platform/signals.h"
#include "base/file/whole_file.h"
#include "base/file/writable.h"
#include "base/format/counted.h"
#include "base/json.h"
#include "base/log.h"
#include "train/step/trainer.h"
#include "train/weights/model_file.h"
#include "train/weights/preprocessing.h"
#include "train/weights/weight_average.h"

namespace shoal::app {
namespace {

// One of the given checkpoints.
struct Candidate {
  Weights weights;              // only the first candidate keeps its model
  train::NamedTensors tensors;  // the model's parameters and buffers
  std::optional<double> top1;   // top-1 accuracy in percent; empty if not measured
  bool used = true;
};

Weights open_one(const Arguments& arguments, const std::string& path) {
  Arguments one = arguments;
  one.job.weights = path;
  imply_settings(one);
  return open_weights(one);
}

// Throws UserError unless both have the same model, classes and number of channels.
void require_alike(const Weights& first, const Weights& other) {
  const auto refuse = [&](const std::string& ours, const std::string& theirs) {
    throw UserError("average: " + first.file + " has " + ours + ", " + other.file + " has " +
                    theirs +
                    "; only checkpoints of one model and the same classes can be averaged");
  };
  const auto &one = first.job.model, &two = other.job.model;
  if (one.name != two.name) refuse("the network " + one.name, two.name);
  if (one.classes != two.classes)
    refuse(counted(one.classes, "class"), std::to_string(two.classes));
  if (one.channels != two.channels)
    refuse(counted(one.channels, "channel"), std::to_string(two.channels));
  for (size_t i = 0; i < std::min(first.classes.size(), other.classes.size()); ++i)
    if (first.classes[i] != other.classes[i])
      refuse("'" + first.classes[i] + "' as class " + std::to_string(i),
             "'" + other.classes[i] + "'");
}

// Warns if the preprocessing differs. The average gets that of the first file.
void compare_preprocessing(const Weights& first, const Weights& other) {
  const auto preprocessing = [](const Weights& one) {
    train::CheckpointData data;
    train::put_preprocessing(one.transform, one.job.crop_pct.value_or(0), data);
    return std::pair(data.integers, data.text);
  };
  if (preprocessing(first) == preprocessing(other)) return;
  log::warning("average: preprocessing of " + other.file + " differs from that of " + first.file +
               "; the average uses the latter");
}

std::vector<Candidate> open_all(const Arguments& arguments) {
  std::vector<Candidate> all;
  for (const std::string& path : arguments.paths) {
    Candidate one{open_one(arguments, path), {}, {}, true};
    for (const Candidate& other : all)
      if (other.weights.file == one.weights.file)
        log::warning(one.weights.file + " is given twice, so the average counts it twice");
    if (!all.empty()) {
      Weights& first = all.front().weights;
      require_alike(first, one.weights);
      compare_preprocessing(first, one.weights);
      if (first.classes.empty()) first.classes = one.weights.classes;
    }
    log_origin(one.weights);
    one.tensors = train::weights_of(*one.weights.model);
    if (!all.empty()) one.weights.model.reset();
    all.push_back(std::move(one));
  }
  return all;
}

// Measures the accuracy of each candidate and sorts the candidates by it, best first. Then adds
// each one to the average unless that lowers the average's accuracy. Returns the average, and sets
// `top1` to its accuracy in percent.
train::NamedTensors greedy_soup(std::vector<Candidate>& all, const Arguments& arguments,
                                double& top1) {
  models::Classifier& model = *all.front().weights.model;
  Evaluation evaluation(arguments, dist::Env{});
  evaluation.open(all.front().weights);
  const auto accuracy = [&](const train::NamedTensors& tensors) {
    train::CheckpointData data;
    data.model = tensors;
    train::load_weights(model, data, /*ema=*/false);
    return evaluation.run(model).sum.top1_percent();
  };
  for (Candidate& one : all) one.top1 = accuracy(one.tensors);
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return *a.top1 > *b.top1; });
  train::WeightAverage average;
  average.add(all.front().tensors);
  top1 = *all.front().top1;
  for (auto one = all.begin() + 1; one != all.end(); ++one) {
    const double with = accuracy(average.mean_with(one->tensors));
    one->used = with >= top1;
    if (!one->used) continue;
    top1 = with;
    average.add(one->tensors);
  }
  evaluation.end();
  return average.mean();
}

int64_t used(const std::vector<Candidate>& all) {
  return std::count_if(all.begin(), all.end(), [](const auto& one) { return one.used; });
}

// Writes the average of `count` checkpoints, with the model, preprocessing and classes of `like`.
void write(const std::string& output, const Weights& like, train::NamedTensors tensors,
           int64_t count) {
  train::CheckpointData data = model_data(like);
  data.model = std::move(tensors);
  data.text[train::kAverageOf] = std::to_string(count);
  data.integers["epoch"] = data.integers["step"] = 0;
  write_whole(output, [&](const ByteSink& sink) { train::write_model(data, sink); });
}

void print(const Arguments& arguments, const std::vector<Candidate>& all,
           const std::optional<double>& top1) {
  if (arguments.json) {
    nlohmann::ordered_json json = {{"output", arguments.average_output}, {"averaged", used(all)}};
    if (top1) json["acc1"] = *top1;
    for (const Candidate& one : all) {
      json["checkpoints"].push_back({{"file", one.weights.file}, {"used", one.used}});
      if (one.top1) json["checkpoints"].back()["acc1"] = *one.top1;
    }
    return log::line(json_text(json));
  }
  for (const Candidate& one : all)
    log::line(printable_row((one.used ? "averaged  " : "left out  ") +
                            (one.top1 ? strf("Acc@1 %.3f  ", *one.top1) : "") + one.weights.file));
  log::line(printable_row(arguments.average_output + ": mean of " +
                          counted(used(all), "checkpoint") +
                          (top1 ? strf(", Acc@1 %.3f", *top1) : "")));
}

// Adds the weights of --weights to the positional ones, as the first.
void take_weights_option(Arguments& arguments) {
  std::string& weights = arguments.job.weights;
  if (weights.empty()) return;
  arguments.paths.insert(arguments.paths.begin(), std::exchange(weights, ""));
  arguments.origins.erase("weights");
}

void check(const Arguments& arguments) {
  if (arguments.paths.size() < 2)
    throw UserError("average needs at least two checkpoints, runs or files of weights");
  const std::filesystem::path output = arguments.average_output;
  if (output.empty()) throw UserError("average needs --output FILE, such as soup.safetensors");
  if (output.extension() != ".safetensors")
    throw UserError("--output " + output.string() +
                    ": the weights are written as safetensors; use a name that ends with "
                    ".safetensors");
  if (std::filesystem::exists(output))
    throw UserError("--output " + output.string() + " exists; remove it or choose another name");
  require_writable_file("--output", output);
}

}  // namespace

int average_command(const Arguments& given) {
  Arguments arguments = given;
  arguments.job.device = "cpu";  // averages are computed on the CPU
  take_weights_option(arguments);
  begin(arguments.job, dist::Env{});
  install_interruption_signals();
  check(arguments);
  std::vector<Candidate> all = open_all(arguments);
  std::optional<double> top1;
  train::NamedTensors tensors;
  const train::Job& job = arguments.job;
  if (job.data.empty() && job.val_dir.empty() && job.train_dir.empty()) {
    train::WeightAverage average;
    for (const Candidate& one : all) average.add(one.tensors);
    tensors = average.mean();
  } else {
    tensors = greedy_soup(all, arguments, top1.emplace());
  }
  // Only the candidate that was given first has a model. Sorting may have moved it.
  const auto first = std::ranges::find_if(all, [](const auto& one) { return !!one.weights.model; });
  write(arguments.average_output, first->weights, std::move(tensors), used(all));
  print(arguments, all, top1);
  return 0;
}

}  // namespace shoal::app
