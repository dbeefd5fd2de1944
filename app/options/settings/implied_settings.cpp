#include "app/options/settings/implied_settings.h"

#include "app/weights/remote_weights.h"
#include "base/error.h"
#include "base/text.h"

namespace shoal::app {
namespace {

// Sets --model to `implied`, the weights' network. Throws UserError if the user chose another.
void imply_model(Arguments& arguments, const std::string& implied) {
  const std::string& weights = arguments.job.weights;
  if (!is_chosen(arguments, "model")) return take_network(arguments, implied);
  const std::string& origin = arguments.origins.at("model");
  const Option& model = require_option(arguments.command, "model", kCommandLine);
  if (const std::string given = model.get(arguments); given != implied)
    throw UserError("--model " + given + (origin == kCommandLine ? "" : " (" + origin + ")") +
                    ": --weights " + weights + " are weights of " + implied +
                    "; remove one of the two, or use --model " + implied);
}

// Sets the preprocessing with which the accuracy of the weights was measured, unless it is given.
void imply_preprocessing(Arguments& arguments, const KnownWeights& weights) {
  const auto given = [&](const char* name) { return is_chosen(arguments, name); };
  const auto imply = [&](const char* name, const std::string& value) {
    if (!given(name)) apply(arguments, name, value, kWeightsOrigin + arguments.job.weights);
  };
  if (!given("crop-pct") && !given("val-resize")) {
    if (given("val-size") || given("size"))
      imply("crop-pct",
            number(static_cast<double>(weights.size) / static_cast<double>(weights.resize)));
    else
      imply("val-resize", std::to_string(weights.resize));
  }
  if (!given("size")) imply("val-size", std::to_string(weights.size));
  imply("interpolation", weights.bicubic ? "bicubic" : "bilinear");
  if (weights.mean_and_std == 0) return;
  imply("mean", number(weights.mean_and_std));
  imply("std", number(weights.mean_and_std));
}

}  // namespace

void take_network(Arguments& arguments, const std::string& network) {
  for (const char* size : {"size", "val-size"}) {
    if (is_chosen(arguments, size) || !arguments.origins.contains(size)) continue;
    apply(arguments, size, "none", "");
    arguments.origins.erase(size);
  }
  apply(arguments, "model", network, kWeightsOrigin + arguments.job.weights);
}

void imply_settings(Arguments& arguments) {
  const std::string& name = arguments.job.weights;
  if (name.empty() || !find_option(arguments.command, "model") || !arguments.help.empty()) return;
  const KnownWeights* const weights = find_known_weights(name);
  if (!weights) return;
  imply_model(arguments, weights->model);
  if (arguments.command != Command::train || arguments.job.eval_only)
    imply_preprocessing(arguments, *weights);
}

}  // namespace shoal::app
