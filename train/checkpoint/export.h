#pragma once
// Exports the trained model for other programs. export_model() writes a folder:
//
//   FOLDER/model.safetensors   the weights (train/weights/model_file.h)
//   FOLDER/classes.json        class name → label
//   FOLDER/settings.json       image preprocessing, training progress and all settings
//
// export_file() writes a single file in one of several formats.

#include <filesystem>
#include <functional>
#include <string>

#include "train/checkpoint/checkpoint_store.h"
#include "train/checkpoint/position.h"
#include "train/job/export_file_options.h"
#include "train/job/job.h"
#include "train/report/report.h"
#include "train/weights/checkpoint_file.h"

namespace shoal::train {

// Creates the folder and writes the three files. Replaces each existing file atomically. `data`: a
// run's state, from snapshot() or a checkpoint. `which` describes the weights; settings.json
// contains it. Throws std::runtime_error with path and reason.
void export_model(const CheckpointData& data, const std::string& folder, const Exported& which);

// Exports the weights that --export selects into --export-dir and logs their accuracy. With "best",
// exports the checkpoint in `store` with the highest accuracy, and warns if the run had a better
// evaluation. With "last", or if that checkpoint is missing or damaged, exports the state that
// `last` returns, which must be the state at `position`. Throws std::runtime_error like
// export_model().
Exported export_run(const ResolvedJob& job, const CheckpointStore& store, const Position& position,
                    const std::function<CheckpointData()>& last);

// Writes the weights to one file; uses the averaged weights if there are any. Replaces an existing
// file atomically. `data` must contain arch, classes and preprocessing; options.format must be set.
// Throws std::runtime_error with path and reason, or if the weights do not fit the network.
void export_file(const CheckpointData& data, const ExportFileOptions& options,
                 const std::filesystem::path& file);

}  // namespace shoal::train
