#pragma once
// Exports the trained model for other programs.
//
//   FOLDER/model.safetensors   the averaged weights if there are any, otherwise the weights, as
//                              32-bit floats by torchvision's names; the metadata contains
//                              everything else that `shoal predict` needs
//   FOLDER/classes.json        class name → label
//   FOLDER/settings.json       image preprocessing, training progress and all settings

#include <functional>
#include <string>
#include <vector>

#include "train/checkpoint/checkpoint_file.h"
#include "train/checkpoint/checkpoint_store.h"
#include "train/checkpoint/position.h"
#include "train/report/report.h"

namespace shoal::train {

inline constexpr const char* kModelFile = "model.safetensors";

// Creates the folder. Throws std::runtime_error if it is not writable. Call it before training, so
// that a run with a wrong folder fails early.
void open_export_folder(const std::string& folder);

// Creates the folder and writes the three files. Replaces existing files atomically. `data`: a
// run's state from snapshot(); `which`: describes the weights in settings.json. Throws
// std::runtime_error with path and reason.
void export_model(const CheckpointData& data, const std::string& folder, const Exported& which);

// Exports the weights selected by --export to --export-dir and logs their accuracy. For "best",
// this is the checkpoint in `store` with the highest accuracy. For "last", or if that checkpoint is
// missing or damaged, it is the state at `position`, which `last` returns. Warns if the run's best
// evaluation is not in `store`. Throws std::runtime_error like export_model().
Exported export_run(const ResolvedJob& job, const CheckpointStore& store, const Position& position,
                    const std::function<CheckpointData()>& last);

// Reads a model.safetensors as a checkpoint without training state. Averaged weights are in
// data.ema. Throws std::runtime_error if it is damaged, UserError if another program wrote it.
CheckpointData read_model(const std::vector<char>& bytes, const std::string& where);

// Returns the averaged weights, plus the model's tensors that have no average. Without averaged
// weights, returns the model's.
NamedTensors finished_weights(const CheckpointData& data);

}  // namespace shoal::train
