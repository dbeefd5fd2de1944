#pragma once
// The file of an exported model, model.safetensors: weights as 32-bit floats with torchvision's
// names. The metadata contains everything else that `shoal predict` needs.

#include <string>
#include <vector>

#include "base/file/whole_file.h"
#include "train/weights/checkpoint_file.h"

namespace shoal::train {

inline constexpr const char* kModelFile = "model.safetensors";

// Key of CheckpointData::text and the metadata: number of checkpoints that were averaged. Missing
// if the weights are not an average of checkpoints.
inline constexpr const char* kAverageOf = "average_of";

// Writes finished_weights(data) and the metadata. `data`: a run's state. Throws std::runtime_error
// if `data` lacks a required entry of the metadata, and what `sink` throws.
void write_model(const CheckpointData& data, const ByteSink& sink);

// Reads an exported model as a checkpoint without training state. Averaged weights go to `ema` of
// the result, others to `model`. `where` appears in messages. Throws std::runtime_error if the file
// is damaged, UserError if another program wrote it.
CheckpointData read_model(const std::vector<char>& bytes, const std::string& where);

// Returns the averaged weights and the model's tensors that have no average. Without averaged
// weights, returns all of the model's tensors.
NamedTensors finished_weights(const CheckpointData& data);

}  // namespace shoal::train
