#include "app/commands/inputs/weights.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "app/commands/inputs/datasets.h"
#include "app/options/class_names.h"
#include "app/weights/fetch.h"
#include "app/weights/imagenet_classes.h"
#include "app/weights/remote_weights.h"
#include "base/format/counted.h"
#include "base/log.h"
#include "dist/env/env.h"
#include "models/catalogue.h"
#include "train/checkpoint/find_checkpoint.h"
#include "train/step/trainer.h"
#include "train/weights/adapt_weights.h"
#include "train/weights/model_file.h"
#include "train/weights/preprocessing.h"

namespace shoal::app {
namespace {

// Returns the error message for a command without weights. Suggests the first of the positional
// `paths` that looks like weights.
std::string no_weights(const std::vector<std::string>& paths) {
  const auto found = std::ranges::find_if(paths, looks_like_weights);
  if (found != paths.end()) return "no weights given; write " + *found + " before the images";
  return "no weights given: name WEIGHTS as the first argument (a run, any file of weights, or a "
         "name that `shoal weights` lists), or add --weights WEIGHTS or --checkpoint PATH (a run "
         "of shoal)";
}

train::OpenedCheckpoint open(const Arguments& arguments, const dist::Group& group) {
  const train::Job& job = arguments.job;
  require_weights(arguments);
  return job.weights.empty() ? train::open_checkpoint(job.checkpoint, group)
                             : train::open_weights(job.weights, job.weights_entry, group,
                                                   weights_finder(arguments));
}

// Throws UserError for another program's file whose tensors fit no network. `known`: the network
// that most of them fit, if there is one.
[[noreturn]] void refuse_network(const std::string& file,
                                 const std::optional<train::KnownModel>& known) {
  throw UserError("--weights " + file +
                  ": the tensors fit no network that shoal knows (`shoal models`)" +
                  (known ? "; most of them fit " + known->name + ", see --model" : ""));
}

// Returns the network's name. A file that shoal wrote contains it. For another program's file, it
// is --model or, without --model, the network that the tensors fit. Throws UserError if --model
// contradicts a file of shoal, or if the tensors fit no network.
std::string model_name(const Arguments& arguments, const train::OpenedCheckpoint& opened) {
  const std::string& wanted = arguments.weights_model;
  if (!opened.is_ours()) {
    if (!wanted.empty()) return wanted;
    const auto known = train::model_like(opened.data);
    if (!known || !known->fit.complete()) refuse_network(opened.file, known);
    return known->name;
  }
  const std::string& own = opened.data.string("arch");
  if (!wanted.empty() && wanted != own)
    throw UserError("--model " + wanted + ": " + opened.file + " contains weights of " + own +
                    "; remove --model");
  return own;
}

// Sets model.classes. Files of shoal contain this number. For other files, converts the tensors to
// the model's names and shapes, and takes the number from the classifier's weight.
void adapt(Weights& weights, train::OpenedCheckpoint& opened, models::ModelOptions& model) {
  train::CheckpointData& data = opened.data;
  if (opened.is_ours()) {
    model.classes = data.integer("classes");
    return;
  }
  try {
    auto adapted = train::adapt_weights(data, models::make_network(model));
    weights.origin += ", " + model.name + " " + adapted.note;
    weights.warnings = adapted.warnings;
    (data.ema.empty() ? data.model : data.ema) = std::move(adapted.tensors);
  } catch (const UserError& error) {
    throw UserError("--weights " + opened.file + ": " + error.what());
  }
  const std::string classifier = models::describe(model).classifier;
  for (const auto& [name, value] : data.ema.empty() ? data.model : data.ema)
    if (name == classifier) model.classes = value.size(0);
}

Weights read_weights_of(const Arguments& arguments, const dist::Group& group) {
  train::OpenedCheckpoint opened = open(arguments, group);
  const train::CheckpointData& data = opened.data;
  Weights weights;
  weights.file = opened.file;
  weights.origin = opened.origin();
  weights.classes = data.classes;
  weights.ema = !data.ema.empty();
  weights.val_split = train::val_split_in(data.settings);
  if (opened.is_ours()) {
    weights.epoch = data.integer("epoch");
    weights.step = data.integer("step");
    if (data.text.contains(train::kAverageOf)) weights.average_of = data.string(train::kAverageOf);
  }
  train::Job& job = weights.job = arguments.job;
  job.model.name = model_name(arguments, opened);
  if (opened.is_ours()) train::take_preprocessing(data, job);
  job.model.channels = job.channels.value_or(job.model.channels);
  adapt(weights, opened, job.model);
  job.classes = job.model.classes;
  job.eval_only = true;
  weights.model = models::create(job.model);
  train::load_weights(*weights.model, data, weights.ema);
  if (!opened.warning.empty()) weights.warnings.push_back(opened.warning);
  if (!opened.is_ours() && group.rank() == 0)
    if (const auto note = wrong_digest_note(arguments.job.weights); !note.empty())
      weights.warnings.push_back(note);
  if (const auto note = train::nonfinite_note(weights.ema ? data.ema : data.model); !note.empty())
    weights.warnings.push_back(note);
  weights.transform = train::evaluation_transform(job, weights.model->info());
  if (!opened.is_ours())
    weights.origin +=
        ", images of " + std::to_string(weights.transform.eval_size) + " px (--val-size)";
  return weights;
}

// Opens the weights that --weights-entry selects. Without that option, opens the file's averaged
// weights (EMA) or, if it has none, its non-averaged weights. Collective.
Weights open_preferred(const Arguments& arguments, const dist::Group& group) {
  try {
    return read_weights_of(arguments, group);
  } catch (const UserError& error) {
    throw in_users_words(arguments, error);
  }
}

}  // namespace

bool looks_like_weights(const std::string& path) {
  namespace fs = std::filesystem;
  const std::string ending = fs::path(path).extension();
  const fs::path directory = train::parse_checkpoint_path(path).directory;
  std::error_code none;
  return ending == ".pt" || ending == ".pth" || ending == ".safetensors" ||
         (!directory.empty() && fs::is_directory(directory / train::kCheckpointsFolder, none));
}

void require_weights(const Arguments& arguments) {
  const train::Job& job = arguments.job;
  if (job.checkpoint.empty() == job.weights.empty())
    throw UserError(job.weights.empty()
                        ? no_weights(arguments.paths)
                        : "--checkpoint and --weights exclude each other; remove one of them");
}

train::LocalPath weights_finder(const Arguments& arguments) {
  return [&arguments](const std::string& weights) {
    const dist::Variables environment = dist::environment();
    FetchOptions options;
    options.cache = arguments.weights_cache;
    if (std::string server = dist::value_of(environment, "HF_ENDPOINT"); !server.empty()) {
      while (server.ends_with('/')) server.pop_back();
      options.servers.hugging_face = server;
    }
    options.download.token = dist::value_of(environment, "HF_TOKEN");
    options.download.certificates = dist::value_of(environment, "SSL_CERT_FILE");
    options.status_line = arguments.job.progress && log::has_status();
    return fetch_weights(weights, options);
  };
}

UserError in_users_words(const Arguments& arguments, const UserError& error) {
  const std::string text = error.what(), option = "--weights ";
  const bool is_word = !arguments.origins.contains("weights");
  return UserError(is_word && text.starts_with(option) ? text.substr(option.size()) : text);
}

std::string network_of(const train::CheckpointData& weights, const std::string& file,
                       bool partial) {
  if (const auto own = weights.text.find("arch"); own != weights.text.end()) return own->second;
  const auto known = train::model_like(weights);
  if (!known && !partial) refuse_network(file, known);
  return known ? known->name : "";
}

train::CheckpointData model_data(const Weights& weights) {
  train::CheckpointData data;
  data.text = {{"arch", weights.job.model.name}};
  if (!weights.average_of.empty()) data.text[train::kAverageOf] = weights.average_of;
  data.integers = {
      {"epoch", weights.epoch}, {"step", weights.step}, {"classes", weights.job.model.classes}};
  train::put_preprocessing(weights.transform, weights.job.crop_pct.value_or(0), data);
  data.classes = weights.classes;
  return data;
}

void log_origin(const Weights& weights) {
  log::info(weights.origin);
  for (const std::string& warning : weights.warnings) log::warning(weights.file + ": " + warning);
}

void check_class_count(const Weights& weights, size_t names, const std::string& source) {
  const auto outputs = static_cast<size_t>(weights.job.model.classes);
  if (names == outputs) return;
  throw UserError(weights.file + ": its classifier has " + counted(outputs, "output") + ", but " +
                  source + " " + counted(names, "class") + "; the numbers must be equal");
}

std::string class_names_advice(const Weights& weights, const std::string& so) {
  if (!weights.classes.empty() || weights.job.model.classes != kImageNetClasses) return "";
  return weights.file + " contains no class names, so " + so +
         "; add --classes imagenet if the outputs are ImageNet's classes, otherwise --classes FILE";
}

void take_class_names(const Arguments& arguments, Weights& weights) {
  const std::string& names = arguments.job.classes_file;
  const bool imagenet =
      names == kImageNet || (names.empty() && find_known_weights(arguments.job.weights) &&
                             weights.job.model.classes == kImageNetClasses);
  if (imagenet)
    weights.classes = imagenet_classes();
  else if (!names.empty())
    weights.classes = read_class_names(names, kImageNet);
  if (!names.empty())
    check_class_count(weights, weights.classes.size(), "--classes " + names + " names");
}

Weights open_weights(Arguments arguments, const dist::Group& group) {
  Weights weights = open_preferred(arguments, group);
  const bool given = arguments.origins.contains("ema");
  if (arguments.use_ema && given && !weights.ema)
    throw UserError("--ema: " + weights.file + " has no averaged weights; remove --ema");
  if (arguments.use_ema || !weights.ema) return weights;
  train::Job& job = arguments.job;
  if (!job.weights_entry.empty())
    throw UserError("--no-ema: --weights-entry " + job.weights_entry +
                    " selects averaged weights; remove one of the two");
  if (job.weights.empty()) job.weights = std::exchange(job.checkpoint, "");
  std::string problem;
  for (const char* const entry : {"model", "state_dict"}) {  // state_dict: timm's name
    job.weights_entry = entry;
    try {
      return open_preferred(arguments, group);
    } catch (const UserError& error) {
      problem = error.what();
      if (problem.find("has no entry") == problem.npos) break;
    }
  }
  throw UserError("--no-ema: " + problem);
}

}  // namespace shoal::app
