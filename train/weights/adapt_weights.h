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

// Returns the network of this name with its own rates of dropout and stochastic depth.
models::Network default_network(const std::string& name, int64_t classes = 1000,
                                int64_t channels = 3);

// Returns the parameters and then the buffers of a network.
TensorShapes shapes_of(const models::Network& network);

struct AdaptedWeights {
  NamedTensors tensors;  // by the model's names, in the model's order; only those that fit
  Fit fit;
  std::string note;                   // "in timm's names", and what was converted
  std::vector<std::string> warnings;  // complete messages
};

// Converts the averaged weights of `data` if there are any, otherwise its weights, to tensors of
// `model`; the classifier may have another number of classes. Throws UserError if one is missing or
// has another shape; the message names the first few and the model that the weights look like.
// `partial`: throws only if no parameter fits.
//
// Running variances are shifted by the difference of batch norm's eps between the programs, which
// gives exactly the other program's results.
AdaptedWeights adapt_weights(const CheckpointData& data, const models::Network& model,
                             bool partial = false);

// One of shoal's models, with tensors similar to a file's.
struct KnownModel {
  std::string name;
  Fit fit;
};
// Returns the most similar model; nothing if less than half of the tensors fit.
std::optional<KnownModel> model_like(const TensorShapes& file);
std::optional<KnownModel> model_like(const CheckpointData& data);

// Whether the name of a network or file is that of one of timm's TensorFlow networks.
bool names_tensorflow(const std::string& name);

}  // namespace shoal::train
