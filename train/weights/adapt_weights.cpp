#include "train/weights/adapt_weights.h"

#include <ATen/ops/all.h>
#include <ATen/ops/isfinite.h>

#include <algorithm>
#include <set>
#include <unordered_map>
#include <variant>

#include "base/error.h"
#include "base/format/counted.h"
#include "base/text.h"
#include "models/catalogue.h"
#include "train/weights/model_file.h"
#include "train/weights/preprocessing.h"
#include "train/weights/weights_file.h"

namespace shoal::train {
namespace {

TensorShapes shapes_in(const NamedTensors& tensors) {
  TensorShapes shapes;
  for (const auto& [name, value] : tensors) shapes.push_back({name, value.sizes().vec()});
  return shapes;
}

// "classifier.1.weight" → "classifier.1"
std::string layer_of(const std::string& name) {
  return name.substr(0, name.rfind('.'));
}

Fit fit_model(const models::Network& model, const TensorShapes& file) {
  return fit_tensors(shapes_of(model), layer_of(model.info.classifier), file);
}

// Properties of a network's layers that may differ between shoal and other programs.
struct Layers {
  double eps = 0;             // of batch norm
  bool same_padding = false;  // convolutions pad like TensorFlow's
};
Layers layers_of(const models::Network& network) {
  Layers layers;
  for (const models::Node& node : network.nodes) {
    if (const auto* norm = std::get_if<models::Norm>(&node.operation)) layers.eps = norm->eps;
    if (const auto* convolution = std::get_if<models::Convolution>(&node.operation))
      layers.same_padding |= convolution->padding == models::Padding::same;
  }
  return layers;
}

[[noreturn]] void refuse(const std::string& model, const Fit& fit, const TensorShapes& file) {
  if (fit.needs_gray()) refuse_gray_weights();
  const auto known = model_like(file);
  std::string text = "these are not weights of --model " + model + ": ";
  text += fit.complete() ? "the model does not have " + first_of(fit.unused) + "."
                         : first_of(sentences(fit.misfits)) + " (of " +
                               std::to_string(fit.taken.size() + fit.misfits.size()) + " tensors).";
  if (known && known->name != model)
    text += " They look like " + known->name + ": use --model " + known->name;
  else if (fit.taken.empty())
    text += " They look like no model that shoal knows (`shoal models`)";
  else
    text += " `shoal inspect FILE --tensors` lists what the file contains";
  throw UserError(text);
}

// Returns the prefix of a tensor's name that identifies its block: "layer1.0." for
// "layer1.0.conv1.weight". Empty if the tensor is in no numbered block.
std::string block_of(const std::string& name) {
  size_t end = 0;
  bool numbered = false;
  for (size_t dot = name.find('.'); dot != name.npos; dot = name.find('.', end)) {
    const bool number = name.find_first_not_of("0123456789", end) == dot;
    if (numbered && !number) break;
    numbered = number;
    end = dot + 1;
  }
  return numbered ? name.substr(0, end) : "";
}

// Whether the file has additional parameters inside the model's blocks, such as the
// squeeze-excitation of a SE-ResNet. Additional heads and averaged copies are outside the blocks.
bool has_other_blocks(const Fit& fit) {
  std::set<std::string> blocks;
  for (const auto& [own, stored] : fit.taken) blocks.insert(block_of(stored));
  blocks.erase("");
  return std::any_of(fit.unused.begin(), fit.unused.end(), [&](const std::string& name) {
    return !is_buffer(name) && blocks.contains(block_of(name));
  });
}

// Whether the file, which has all tensors of `model`, contains a larger model. For ResNet-18, this
// may be ResNet-34, or a network with additional layers in the same blocks.
bool is_part_of_other(const std::string& model, const Fit& fit, const TensorShapes& file) {
  if (fit.unused.empty()) return false;
  if (has_other_blocks(fit)) return true;
  const auto known = model_like(file);
  return known && known->name != model && known->fit.complete();
}

}  // namespace

models::Network default_network(const std::string& name, int64_t classes, int64_t channels) {
  models::ModelOptions options;
  options.name = name;
  options.classes = classes;
  options.channels = channels;
  return models::make_network(options);
}

TensorShapes shapes_of(const models::Network& network) {
  TensorShapes shapes;
  for (const auto& parameter : network.parameters)
    shapes.push_back({parameter.name, parameter.shape});
  for (const auto& statistics : network.statistics) {
    shapes.push_back({statistics.name + ".running_mean", {statistics.channels}});
    shapes.push_back({statistics.name + ".running_var", {statistics.channels}});
    shapes.push_back({statistics.name + ".num_batches_tracked", {}});
  }
  return shapes;
}

bool names_tensorflow(const std::string& name) {
  return name.find("tf_efficientnet") != std::string::npos ||
         name.find("tf_mobilenet") != std::string::npos;
}

std::optional<KnownModel> model_like(const TensorShapes& file) {
  std::optional<KnownModel> best;
  for (const std::string& name : models::names()) {
    Fit fit = fit_model(default_network(name), file);
    if (!best || fit.share() > best->fit.share()) best = KnownModel{name, std::move(fit)};
  }
  if (!best || best->fit.share() < 0.5) return std::nullopt;
  if (best->fit.needs_gray())
    best->fit = fit_model(default_network(best->name, 1000, /*channels=*/1), file);
  return best;
}

std::optional<KnownModel> model_like(const CheckpointData& data) {
  return model_like(shapes_in(finished_weights(data)));
}

AdaptedWeights adapt_weights(const CheckpointData& data, const models::Network& model,
                             bool partial) {
  const NamedTensors weights = finished_weights(data);
  const TensorShapes file = shapes_in(weights);
  AdaptedWeights adapted;
  Fit& fit = adapted.fit = fit_model(model, file);
  const std::string& name = model.info.name;
  const bool none = std::none_of(fit.taken.begin(), fit.taken.end(),
                                 [](const auto& taken) { return !is_buffer(taken.first); });
  if (fit.complete() ? !partial && is_part_of_other(name, fit, file) : !partial || none)
    refuse(name, fit, file);

  // `ours`, `theirs`: eps and padding in shoal and in the program that wrote the weights. They are
  // equal if the tensors have torchvision's names (`rename` is null).
  const Layers ours = layers_of(model);
  const auto named = data.text.find(kTheirModel);
  const std::string their_model = named == data.text.end() ? "" : named->second;
  // timm's EfficientNet-Lite weights (tf_efficientnet_lite0, …) come from TensorFlow; only those
  // of efficientnet_lite0 do not. So a file with another name (lite0.pth) counts as TensorFlow's.
  const bool lite = name.starts_with("efficientnet_lite") &&
                    their_model.find("efficientnet_lite0") == std::string::npos;
  const bool tensorflow = fit.family->rename && (lite || names_tensorflow(their_model));
  const Layers theirs = !fit.family->rename ? ours
                        : tensorflow        ? Layers{kTensorFlowEps, true}
                                     : Layers{fit.family->batch_norm_eps, fit.family->same_padding};
  const double shift = theirs.eps - ours.eps;
  const std::unordered_map<std::string, at::Tensor> by_name(weights.begin(), weights.end());
  std::unordered_map<std::string, size_t> dimensions;
  for (const models::Parameter& parameter : model.parameters)
    dimensions[parameter.name] = parameter.shape.size();
  for (const auto& [own, stored] : fit.taken) {
    at::Tensor value = by_name.at(stored);
    if (shift != 0 && own.ends_with(".running_var")) value = value.to(at::kDouble).add(shift);
    // The file may store a linear layer as a 1×1 convolution.
    if (value.dim() == 4 && dimensions[own] == 2) value = value.flatten(1);
    adapted.tensors.emplace_back(own, value);
  }

  adapted.note = std::string("in ") + fit.family->name + "'s names";
  if (shift != 0)
    adapted.note += strf(", batch norm converted from eps %g to %g", theirs.eps, ours.eps);
  if (theirs.same_padding != ours.same_padding)
    adapted.warnings.push_back(
        strf("their network (%s) pads %s, %s %s: results differ slightly, except with image sizes "
             "32 × N + 1 such as --val-size 225",
             tensorflow ? their_model.c_str() : fit.family->name,
             theirs.same_padding ? "like TensorFlow" : "symmetrically", name.c_str(),
             ours.same_padding ? "like TensorFlow" : "symmetrically"));
  if (!fit.unused.empty())
    adapted.warnings.push_back("ignored " + counted(fit.unused.size(), "tensor") +
                               " of the weights, which " + name +
                               " does not have: " + first_of(fit.unused));
  return adapted;
}

std::string nonfinite_note(const NamedTensors& tensors) {
  for (const auto& [name, value] : tensors)
    if (value.is_floating_point() && !at::isfinite(value).all().item<bool>())
      return name +
             " contains values that are not finite: the file is damaged, or its training "
             "diverged";
  return "";
}

}  // namespace shoal::train
