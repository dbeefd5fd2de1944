#pragma once
// Saves the state of a run as checkpoint data, and loads what a run starts from into a Trainer.

#include <functional>
#include <string>
#include <vector>

#include "train/checkpoint/find_checkpoint.h"
#include "train/checkpoint/position.h"
#include "train/job/job.h"
#include "train/step/trainer.h"

namespace shoal::train {

// Returns the complete state of the run as checkpoint data.
CheckpointData snapshot(const Trainer& trainer, const Position& position, const ResolvedJob& job,
                        const std::vector<std::string>& classes);
// Replaces everything in `data` except the tensors, which are those of Trainer::save_tensors().
void put_scalars(const Trainer& trainer, const Position& position, const ResolvedJob& job,
                 const std::vector<std::string>& classes, CheckpointData& data);

// Returns the names of the checkpoint's settings that had no effect in its run
// (SavedSetting::effective). Empty for older checkpoints.
std::vector<std::string> settings_without_effect(const CheckpointData& data);

// Loads a checkpoint into the trainer and returns the run's position. With --eval-only, loads no
// optimizer state. `classes`: names of this run's classes. Throws UserError if the checkpoint's run
// cannot be continued exactly with these settings (another global batch, seed, data, classes or
// model). Reports other changed settings to `warn`.
Position restore(Trainer& trainer, const CheckpointData& data, const ResolvedJob& job,
                 const std::vector<std::string>& classes,
                 const std::function<void(const std::string&)>& warn);

// Loads what find_start() found into a fresh trainer: a checkpoint (see restore()) or the weights
// of another run or program (averaged weights if there are any). If the weights and the run differ
// in the number of classes or the class names, logs a warning and sets the classifier to zeros;
// with --eval-only, throws UserError instead. Throws UserError if the weights are for
// another model; with --load-partial, loads the tensors that fit. Returns the initial position for
// a fresh start. `leader`: whether this is rank 0, which logs the warnings.
Position load_start(Trainer& trainer, const Start& start, const ResolvedJob& job,
                    const std::vector<std::string>& classes, bool leader);

}  // namespace shoal::train
