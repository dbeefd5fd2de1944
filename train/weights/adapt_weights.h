#pragma once
// Converts the weights in a file to those of a model: renames tensors, adjusts batch norm, and
// checks what is missing.

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

// Returns names and shapes of a network's parameters and then of its buffers.
TensorShapes shapes_of(const models::Network& network);

struct AdaptedWeights {
  NamedTensors tensors;  // by the model's names, in the model's order; only those that fit
  Fit fit;
  std::string note;                   // "in timm's names", and what was converted
  std::vector<std::string> warnings;  // complete messages
};

// Converts the averaged weights of `data` if there are any, otherwise its weights, to tensors of
// `model`. The classifier may have another number of classes. Throws UserError if a tensor is
// missing or has another shape; the message names the first such tensors and the model that the
// weights look like. Also throws UserError for weights of a larger model that includes all tensors
// of `model`. With `partial`, throws only if no parameter fits.
//
// If batch norm's eps differs between the programs, adds the difference to the running variances.
// Then variance + eps, and with it the result of batch norm, is that of the other program.
AdaptedWeights adapt_weights(const CheckpointData& data, const models::Network& model,
                             bool partial = false);

// One of shoal's models, with tensors similar to a file's.
struct KnownModel {
  std::string name;
  Fit fit;
};
// Returns the most similar model; nullopt if less than half of the tensors fit (Fit::share()).
std::optional<KnownModel> model_like(const TensorShapes& file);
std::optional<KnownModel> model_like(const CheckpointData& data);

// Whether `name`, the name of a network or file, contains that of one of timm's networks with
// TensorFlow's padding (tf_efficientnet, tf_mobilenet).
bool names_tensorflow(const std::string& name);

}  // namespace shoal::train
