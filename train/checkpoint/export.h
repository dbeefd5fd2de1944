#pragma once
// Exports the trained model for other programs.
//
//   FOLDER/model.safetensors   weights by torchvision's names, 32-bit floats, averaged if
//                              available; its metadata contains all that `shoal predict` needs
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

// Creates the folder. Throws std::runtime_error if it is not writable. Call before training, to
// fail early.
void open_export_folder(const std::string& folder);

// Writes the three files, replacing earlier ones atomically. Creates the folder. `data`: a run's
// state from snapshot(); `which`: information for settings.json. Throws std::runtime_error with
// path and reason.
void export_model(const CheckpointData& data, const std::string& folder, const Exported& which);

// Exports the model selected by --export to --export-dir and logs its accuracy: the checkpoint of
// the best evaluation in `store` or, if there is none or it is damaged, the state at `position`,
// which `last` returns. Warns if the run's best evaluation is not in `store`. Throws
// std::runtime_error like export_model().
Exported export_run(const ResolvedJob& job, const CheckpointStore& store, const Position& position,
                    const std::function<CheckpointData()>& last);

// Reads a model.safetensors as a checkpoint without training state. Averaged weights are in
// data.ema. Throws std::runtime_error if it is damaged, UserError if another program wrote it.
CheckpointData read_model(const std::vector<char>& bytes, const std::string& where);

// Returns the weights to use: the averaged ones if available, with the batch counters of the
// others.
NamedTensors finished_weights(const CheckpointData& data);

}  // namespace shoal::train
