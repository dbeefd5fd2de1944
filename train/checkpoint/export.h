#pragma once
// Exports the trained model for other programs.
//
//   FOLDER/model.safetensors   the weights (train/weights/model_file.h)
//   FOLDER/classes.json        class name → label
//   FOLDER/settings.json       image preprocessing, training progress and all settings

#include <functional>
#include <string>

#include "train/checkpoint/checkpoint_store.h"
#include "train/checkpoint/position.h"
#include "train/job/job.h"
#include "train/report/report.h"
#include "train/weights/checkpoint_file.h"

namespace shoal::train {

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

}  // namespace shoal::train
