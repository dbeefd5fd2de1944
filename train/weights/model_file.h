#pragma once
// The file of an exported model, model.safetensors: weights as 32-bit floats by torchvision's
// names. The metadata contains everything else that `shoal predict` needs.

#include <string>
#include <vector>

#include "base/file/whole_file.h"
#include "train/weights/checkpoint_file.h"

namespace shoal::train {

inline constexpr const char* kModelFile = "model.safetensors";

// Key in CheckpointData::text and in the metadata: number of checkpoints that were averaged.
// Missing if the weights are not such an average.
inline constexpr const char* kAverageOf = "average_of";

// Writes the averaged weights if there are any, otherwise the weights. `data`: a run's state.
// Throws what `sink` throws.
void write_model(const CheckpointData& data, const ByteSink& sink);

// Reads such a file as a checkpoint without training state. Averaged weights are in data.ema.
// Throws std::runtime_error if it is damaged, UserError if another program wrote it.
CheckpointData read_model(const std::vector<char>& bytes, const std::string& where);

// Returns the averaged weights, plus the model's tensors that have no average. Without averaged
// weights, returns the model's.
NamedTensors finished_weights(const CheckpointData& data);

}  // namespace shoal::train
