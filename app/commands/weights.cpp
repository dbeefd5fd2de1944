#include "app/commands/weights.h"

#include "app/commands/datasets.h"
#include "app/weights/fetch.h"
#include "base/log.h"
#include "dist/env/env.h"
#include "models/catalogue.h"
#include "train/checkpoint/resume.h"
#include "train/weights/preprocessing.h"

namespace shoal::app {
namespace {

train::OpenedCheckpoint open(const Arguments& arguments, const dist::Group& group) {
  const train::Job& job = arguments.job;
  if (job.checkpoint.empty() == job.weights.empty())
    throw UserError(job.weights.empty()
                        ? "no weights given: add --checkpoint PATH (a run of shoal) or --weights "
                          "WHAT (also other programs' files and names; see `shoal weights`)"
                        : "--checkpoint and --weights exclude each other; remove one of them");
  return job.weights.empty() ? train::open_checkpoint(job.checkpoint, group)
                             : train::open_weights(job.weights, job.weights_entry, group,
                                                   weights_finder(arguments));
}

// Returns the network's name in the file or, for another program's file, --model. Throws UserError
// if they differ or both are missing.
std::string model_name(const Arguments& arguments, const train::OpenedCheckpoint& opened) {
  const std::string& wanted = arguments.weights_model;
  if (!opened.is_ours()) {
    if (!wanted.empty()) return wanted;
    throw UserError("--weights " + opened.file +
                    ": the file does not name its network; add --model NAME (`shoal models` "
                    "lists them)");
  }
  const std::string& own = opened.data.string("arch");
  if (!wanted.empty() && wanted != own)
    throw UserError("--model " + wanted + ": " + opened.file + " contains weights of " + own +
                    "; remove --model");
  return own;
}

// Returns the number of outputs of the classifier.
int64_t count_classes(const train::OpenedCheckpoint& opened, const models::ModelOptions& model) {
  if (opened.is_ours()) return opened.data.integer("classes");
  const std::string classifier = models::describe(model).classifier;
  const auto& tensors = opened.data.ema.empty() ? opened.data.model : opened.data.ema;
  for (const auto& [name, value] : tensors)
    if (name == classifier && value.dim() == 2) return value.size(0);
  throw UserError("--weights " + opened.file + " has no tensor '" + classifier +
                  "', the classifier of --model " + model.name +
                  "; it must contain the tensors of this model, with torchvision's names");
}

void load(Weights& weights, const train::OpenedCheckpoint& opened) {
  weights.model = models::create(weights.job.model);
  try {
    train::load_weights(*weights.model, opened.data, weights.ema);
  } catch (const std::runtime_error& error) {
    if (opened.is_ours()) throw;
    throw UserError("--weights " + opened.file + ": " + error.what() +
                    "; it must contain the tensors of --model " + weights.job.model.name +
                    ", with torchvision's names");
  }
}

}  // namespace

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

Weights open_weights(const Arguments& arguments, const dist::Group& group) {
  const train::OpenedCheckpoint opened = open(arguments, group);
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
  }
  train::Job& job = weights.job = arguments.job;
  job.model.name = model_name(arguments, opened);
  job.model.classes = count_classes(opened, job.model);
  job.classes = job.model.classes;
  job.eval_only = true;
  if (opened.is_ours()) train::take_preprocessing(data, job);
  job.model.channels = job.channels.value_or(job.model.channels);
  load(weights, opened);
  weights.transform = train::evaluation_transform(job, weights.model->info());
  return weights;
}

void check_class_count(const Weights& weights, size_t names, const std::string& whose) {
  const auto outputs = static_cast<size_t>(weights.job.model.classes);
  if (names == outputs) return;
  throw UserError(weights.file + ": its classifier has " + std::to_string(outputs) +
                  " outputs, but " + whose + " " + std::to_string(names) +
                  " classes; the numbers must be equal");
}

void take_class_names(const Arguments& arguments, Weights& weights) {
  const std::string& names = arguments.job.classes_file;
  if (names.empty()) return;
  weights.classes = read_class_names(names);
  check_class_count(weights, weights.classes.size(), "--classes " + names + " names");
}

}  // namespace shoal::app
