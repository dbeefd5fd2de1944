#pragma once
// Finds and reads the state or weights that a run starts from.

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "dist/group.h"
#include "train/checkpoint/checkpoint_store.h"
#include "train/job/job.h"
#include "train/weights/weights_file.h"

namespace shoal::train {

// Returns the store of a run's checkpoints. The store also accepts a complete checkpoint that lacks
// its marker (checkpoint_store.h).
CheckpointStore checkpoint_store(const std::filesystem::path& directory, int64_t keep);

// Returns the --checkpoint-dir in the settings (kConfigFile) of the run in the output folder
// `directory`, if that folder contains checkpoints; otherwise an empty path.
std::filesystem::path stored_checkpoint_dir(const std::filesystem::path& directory);

// Returns a store for reading the checkpoints in `directory`. If there are none, `directory` is a
// run's output folder: the store reads its subfolder kCheckpointsFolder or, if there are none
// either, stored_checkpoint_dir().
CheckpointStore store_in(const std::filesystem::path& directory);

// What a run starts from: a checkpoint (`data`), other weights (`weights`), or random weights
// (neither is set).
struct Start {
  std::optional<CheckpointData> data;     // the run to continue
  std::optional<CheckpointData> weights;  // --weights, for a fresh start
  // Description for the log: "fresh start", "…/epoch-0003-step-00001234.pt, epoch 3, step 1234".
  std::string origin;
  std::string file, weights_file;  // paths of the files that contain `data` and `weights`
  // On rank 0: names of the checkpoints in checkpoint_directory(job) when the search began.
  std::vector<std::string> seen;
};

// Converts the value of --weights to the path of a file or folder, for example by a download.
using LocalPath = std::function<std::string(const std::string& weights)>;

// Finds what a run starts from. Rank 0 searches, reads the file and broadcasts its bytes, so other
// hosts need no files. Throws std::runtime_error if checkpoints exist but all are damaged, and
// UserError if --eval-only finds no weights. Errors are thrown on all ranks. Collective.
//
//   --resume        the newest intact checkpoint in checkpoint_directory(job); if there is none,
//                   logs that and starts fresh
//   --resume PATH   the file PATH, which may come from PyTorch's imagenet example
//                   (imagenet_example.h), or the newest intact checkpoint in the directory PATH.
//                   DIR/best: the checkpoint with the highest accuracy in DIR; DIR/last: the newest
//                   intact one. Throws UserError if there is none. Special cases:
//                   - A missing file named checkpoint.pth.tar has the effect of --resume alone,
//                     because scripts for PyTorch's imagenet example pass this name on their first
//                     run.
//                   - In a SageMaker container, PATH is ignored if the job already has checkpoints
//                     of its own, because SageMaker repeats the command after an interruption.
//   neither         a fresh start
//
// A fresh start with --weights uses the weights that open_weights() finds.
Start find_start(const Job& job, const dist::Group& group, const LocalPath& local_path = {});

// Throws UserError if `store` contains checkpoints but the run does not continue from that folder.
void require_own(const CheckpointStore& store, const Start& start);
// Calls require_own() on rank 0 for the run's checkpoint directory. All ranks throw its UserError.
// Collective.
void require_own_folder(const Job& job, const Start& start, const dist::Group& group);

// What a path of --resume, --checkpoint or --weights names.
struct CheckpointPath {
  std::filesystem::path path;       // without a slash at the end
  std::filesystem::path directory;  // DIR for a directory DIR, DIR/best or DIR/last; else empty
  bool best = false;                // whether the path is DIR/best
};
// Parses a path. A file or directory really named "best" or "last" has priority.
CheckpointPath parse_checkpoint_path(std::filesystem::path path);

// A checkpoint or weights file that was read but not yet parsed.
struct Located {
  std::vector<char> bytes;
  std::string file;
};

// Reads the file that `path` names by the rules of open_checkpoint(), without parsing it. `option`
// appears in messages. Throws UserError if there is no such file or it does not begin like a
// weights file; std::runtime_error if it cannot be read or does not match its marker.
Located locate_weights(const std::string& path, const std::string& option);

// Opens a checkpoint of shoal. Rank 0 reads it and broadcasts it. Collective. `path` is one of:
//
//   a file        a checkpoint or a model.safetensors (export.h)
//   a directory   a run's output or checkpoint directory: its newest intact checkpoint or, if it
//                 has no checkpoints, its model.safetensors
//   DIR/best      the checkpoint with the highest accuracy in such a directory; if none was
//                 evaluated, the newest intact one
//   DIR/last      the same as DIR
//
// Throws UserError if there is no such file, it is of another kind, or another program wrote it;
// std::runtime_error if the file is damaged.
OpenedCheckpoint open_checkpoint(const std::string& path, const dist::Group& group = {});

// Like open_checkpoint(), for --weights: also accepts files of other programs. If `local_path` is
// set, rank 0 calls it to convert `weights` to a path. `entry` is as in read_weights().
OpenedCheckpoint open_weights(const std::string& weights, const std::string& entry,
                              const dist::Group& group = {}, const LocalPath& local_path = {});

// Returns the newest intact checkpoint in `store` with fewer than `step` steps; nullopt if there is
// none. Rank 0 reads it and broadcasts it. If all such checkpoints are damaged, throws
// std::runtime_error on all ranks. Collective.
std::optional<OpenedCheckpoint> checkpoint_before(int64_t step, const CheckpointStore& store,
                                                  dist::Group& group);

}  // namespace shoal::train
