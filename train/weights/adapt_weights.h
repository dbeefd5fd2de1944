#pragma once
// Converts the weights of a file to tensors of a model: renames them, adjusts batch norm, and
// checks that none is missing.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/network.h"
#include "train/weights/checkpoint_file.h"
#include "train/weights/tensor_fit.h"

namespace shoal::train {

// Returns the network of this name with its default dropout and drop path rates.
models::Network default_network(const std::string& name, int64_t classes = 1000,
                                int64_t channels = 3);

// Returns the names and shapes of a network's parameters, followed by those of its buffers.
TensorShapes shapes_of(const models::Network& network);

struct AdaptedWeights {
  // The tensors that fit, with the model's names and in its order. They keep the file's dtypes,
  // except running variances that were changed, which are float64.
  NamedTensors tensors;
  Fit fit;
  std::string note;                   // for the log: "in timm's names" and any conversions
  std::vector<std::string> warnings;  // complete messages
};

// Converts the averaged weights of `data` if there are any, otherwise its weights, to tensors of
// `model`. The classifier may have another number of classes. Throws UserError if a tensor is
// missing or has another shape; the message names the first such tensors and the most similar
// model. Also throws UserError for weights of a larger model that has all tensors of `model`. With
// `partial`, throws only if no parameter fits.
//
// If another program wrote the file and its batch norm has another eps, adds the difference to the
// running variances. This keeps variance + eps, and so batch norm's results, as in that program.
AdaptedWeights adapt_weights(const CheckpointData& data, const models::Network& model,
                             bool partial = false);

// Names the first tensor with values that are not finite. Returns "" if there is none.
std::string nonfinite_note(const NamedTensors& tensors);

// A model of shoal whose tensors resemble those of a file.
struct KnownModel {
  std::string name;
  Fit fit;
};
// Returns the model most similar to the file; nullopt if its Fit::share() is below 0.5.
std::optional<KnownModel> model_like(const TensorShapes& file);
std::optional<KnownModel> model_like(const CheckpointData& data);

// Whether the name of a network or file contains tf_efficientnet or tf_mobilenet. In timm, these
// networks pad like TensorFlow.
bool names_tensorflow(const std::string& name);

}  // namespace shoal::train
