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

// Writes finished_weights(data) and the metadata. `data`: a run's state. Throws std::runtime_error
// if an entry of the metadata is missing in `data`, and what `sink` throws.
void write_model(const CheckpointData& data, const ByteSink& sink);

// Reads such a file as a checkpoint without training state. Averaged weights are in `ema` of the
// result, others in `model`. `where` appears in messages. Throws std::runtime_error if the file is
// damaged, UserError if another program wrote it.
CheckpointData read_model(const std::vector<char>& bytes, const std::string& where);

// Returns the averaged weights, plus the model's tensors that have no average. Without averaged
// weights, returns the model's.
NamedTensors finished_weights(const CheckpointData& data);

}  // namespace shoal::train
