#include "train/weights/adapt_weights.h"

#include <unordered_map>

#include "base/error.h"
#include "base/text.h"
#include "models/model.h"
#include "train/weights/model_file.h"
#include "train/weights/weights_file.h"

namespace shoal::train {
namespace {

TensorShapes shapes_of(const NamedTensors& tensors) {
  TensorShapes shapes;
  for (const auto& [name, value] : tensors) shapes.push_back({name, value.sizes().vec()});
  return shapes;
}

// "classifier.1.weight" → "classifier.1"
std::string layer_of(const std::string& name) {
  return name.substr(0, name.rfind('.'));
}

Fit fit_model(const models::ModelOptions& model, const TensorShapes& file) {
  return fit_tensors(models::tensors(model), layer_of(models::describe(model).classifier), file);
}

[[noreturn]] void refuse(const models::ModelOptions& model, const Fit& fit,
                         const TensorShapes& file) {
  const auto known = model_like(file);
  std::string text = "these are not weights of --model " + model.name + ": " +
                     first_of(sentences(fit.misfits)) + " (of " +
                     std::to_string(fit.taken.size() + fit.misfits.size()) + " tensors).";
  if (known && known->name != model.name)
    text += " They look like " + known->name + ": use --model " + known->name;
  else if (fit.taken.empty())
    text += " They look like no model that shoal knows (`shoal models`)";
  else
    text += " `shoal inspect FILE --tensors` lists what the file contains";
  throw UserError(text);
}

}  // namespace

models::ModelOptions default_model(const std::string& name, int64_t classes) {
  models::ModelOptions options;
  options.name = name;
  options.classes = classes;
  return options;
}

bool names_tensorflow(const std::string& name) {
  return name.find("tf_efficientnet") != std::string::npos;
}

std::optional<KnownModel> model_like(const TensorShapes& file) {
  std::optional<KnownModel> best;
  for (const std::string& name : models::names()) {
    Fit fit = fit_model(default_model(name), file);
    if (!best || fit.share() > best->fit.share()) best = KnownModel{name, std::move(fit)};
  }
  if (best && best->fit.share() < 0.5) best.reset();
  return best;
}

std::optional<KnownModel> model_like(const CheckpointData& data) {
  return model_like(shapes_of(finished_weights(data)));
}

AdaptedWeights adapt_weights(const CheckpointData& data, const models::ModelOptions& model,
                             bool partial) {
  const NamedTensors weights = finished_weights(data);
  const TensorShapes file = shapes_of(weights);
  AdaptedWeights adapted;
  Fit& fit = adapted.fit = fit_model(model, file);
  if (!fit.complete() && (!partial || fit.taken.empty())) refuse(model, fit, file);

  const auto named = data.text.find(kTheirModel);
  const bool tensorflow =
      fit.family->rename && named != data.text.end() && names_tensorflow(named->second);
  const double eps = models::describe(model).batch_norm_eps;
  const double theirs = tensorflow ? kTensorFlowEps : fit.family->batch_norm_eps;
  const double shift = theirs > 0 ? theirs - eps : 0;
  const std::unordered_map<std::string, at::Tensor> by_name(weights.begin(), weights.end());
  for (const auto& [name, stored] : fit.taken) {
    const at::Tensor& value = by_name.at(stored);
    const bool shifted = shift != 0 && name.ends_with(".running_var");
    adapted.tensors.emplace_back(name, shifted ? value.to(at::kDouble).add(shift) : value);
  }

  adapted.note = std::string("in ") + fit.family->name + "'s names";
  if (shift != 0) adapted.note += strf(", batch norm converted from eps %g to %g", theirs, eps);
  if (tensorflow || fit.family->same_padding)
    adapted.warnings.push_back(
        strf("the network of the weights (%s) pads like TensorFlow, %s does not: results differ "
             "slightly, except with image sizes 32 × N + 1 such as --val-size 225",
             tensorflow ? named->second.c_str() : fit.family->name, model.name.c_str()));
  if (!fit.unused.empty())
    adapted.warnings.push_back("ignored " + std::to_string(fit.unused.size()) +
                               " tensor(s) of the weights, which " + model.name +
                               " does not have: " + first_of(fit.unused));
  return adapted;
}

}  // namespace shoal::train
