#pragma once
// The finished model, as other programs take it.
//
//   FOLDER/model.safetensors   weights by torchvision's names, 32-bit floats, the averaged ones
//                              where there are any; in its metadata all that `shoal predict` needs
//   FOLDER/classes.json        class name → label
//   FOLDER/settings.json       how images are prepared, how far training came, every setting

#include <functional>
#include <string>
#include <vector>

#include "train/checkpoint/checkpoint_file.h"
#include "train/checkpoint/checkpoint_store.h"
#include "train/checkpoint/position.h"
#include "train/run/summary.h"

namespace shoal::train {

inline constexpr const char* kModelFile = "model.safetensors";

// Makes the folder. Throws std::runtime_error when nothing can be written there, which is better
// known before the training than after it.
void open_export_folder(const std::string& folder);

// `data`: a run's state as snapshot() makes it; `which`: what settings.json says of it. The three
// files replace earlier ones, each as a whole. Makes the folder. Throws std::runtime_error with path
// and reason.
void export_model(const CheckpointData& data, const std::string& folder, const Exported& which);

// Exports what --export asks for to --export-dir and logs it with its accuracy: the checkpoint of
// the best evaluation in `store`; else, or where that is damaged, the state at `position` that
// `last` returns. Warns where the run's best evaluation is not in `store`. Throws
// std::runtime_error as export_model() does.
Exported export_run(const ResolvedJob& job, const CheckpointStore& store, const Position& position,
                    const std::function<CheckpointData()>& last);

// What is known of a model.safetensors, as a checkpoint without a training state: data.ema holds
// averaged weights. Throws std::runtime_error when it is damaged, UserError when another
// program wrote it.
CheckpointData read_model(const std::vector<char>& bytes, const std::string& where);

// The weights to use: the averaged ones where there are any, with the counters of the others.
NamedTensors finished_weights(const CheckpointData& data);

}  // namespace shoal::train
