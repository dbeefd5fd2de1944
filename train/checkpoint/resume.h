#pragma once
// Between a running Trainer and the checkpoint directory: what is saved, what is found, what may be
// continued.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "dist/group.h"
#include "train/checkpoint/checkpoint_store.h"
#include "train/checkpoint/position.h"
#include "train/run/job.h"
#include "train/step/trainer.h"
#include "train/weights/weights_file.h"

namespace shoal::train {

// Everything of the run as one checkpoint's data.
CheckpointData snapshot(const Trainer& trainer, const Position& position, const ResolvedJob& job,
                        const std::vector<std::string>& classes);

// What a run starts from.
struct Start {
  std::optional<CheckpointData> data;     // nothing: a fresh start
  std::optional<CheckpointData> weights;  // of a fresh start: --weights; else random ones
  // For the start block: "fresh start", "…/epoch-0003-step-00001234.pt, epoch 3, step 1234".
  std::string origin;
};

// Rank 0 looks (in checkpoint_directory(job) and --resume PATH), reads and hands the bytes to every
// rank; other hosts need no file. Collective.
//
//   --resume        the newest good checkpoint of the directory, else a notice and a fresh start
//   --resume PATH   that file, or the newest good one of that directory. UserError when there is
//                   none; only a missing checkpoint.pth.tar, which scripts of the imagenet
//                   example name on their first run, means the same as --resume alone
//   neither         a fresh start; UserError when the directory holds checkpoints, so that
//                   nothing is lost
//
// A fresh start with --weights PATH has what open_weights() finds there.
Start find_start(const Job& job, dist::Group& group);

// The checkpoint at `path`: a file (model.safetensors too, see export.h); the newest good one of a
// run's or a checkpoint directory, else the model.safetensors in it; or, with "best" or "last"
// behind such a directory (runs/shoal/best), that one of it. Throws UserError when there is none, the
// file is of another kind, or another program wrote it; std::runtime_error when it is damaged.
OpenedCheckpoint open_checkpoint(const std::string& path);

// The same for --weights, which may be another program's too; `entry` as in read_weights().
OpenedCheckpoint open_weights(const std::string& path, const std::string& entry);

// The newest good checkpoint of the store from before step `step`: rank 0 reads it, every
// rank gets it. Collective.
std::optional<OpenedCheckpoint> checkpoint_before(int64_t step, const CheckpointStore& store,
                                                  dist::Group& group);

// Gives a fresh trainer the weights of another run, the averaged ones where it has them. `classes`:
// the names of this run's. A classifier for another number of classes, or for classes of other
// names, stays as it is and `warn` is told; with --eval-only that is a UserError. Throws UserError
// when the weights are another model's.
void start_from(Trainer& trainer, const CheckpointData& weights, const ResolvedJob& job,
                const std::vector<std::string>& classes,
                const std::function<void(const std::string&)>& warn);

// Loads tensors and returns the position. Throws UserError when the run that made the data cannot
// be continued exactly with these settings (other global batch, seed, data, classes or model);
// tells `warn` of settings that differ but may. `classes`: the names of this run's.
Position restore(Trainer& trainer, const CheckpointData& data, const ResolvedJob& job,
                 const std::vector<std::string>& classes,
                 const std::function<void(const std::string&)>& warn);

// start_from() or restore(), as `start` asks; on rank 0 (`leader`) warnings are logged.
Position load_start(Trainer& trainer, const Start& start, const ResolvedJob& job,
                    const std::vector<std::string>& classes, bool leader);

}  // namespace shoal::train
