#pragma once
// Default paths in a SageMaker container or under simple-sagemaker (variables SSM_*), from the
// environment and configuration files. Reads files only through `Files`. Does not use LibTorch.
//
// A channel is a folder of input data. Channel names come from SM_CHANNELS, the variables
// SM_CHANNEL_NAME and SSM_CHANNEL_NAME, the keys of inputdataconfig.json, and the folders in
// BASE/input/data. A channel's path is the value of its variable, else BASE/input/data/NAME. The
// channels code, model, sm_drivers and pretrained are not searched for images. For each path, the
// first entry that exists or is set is used:
//
//   training     train, training, train_0 or training_0; else a channel that contains train/ and
//                val/ (if several do: imagenet, else data); else the only channel besides the
//                validation channel. A channel with TrainingInputMode Pipe becomes
//                "pipe:BASE/input/data/NAME"; train_0 … train_3 become
//                "pipe:BASE/input/data/train_{0..3}" (app/launch/pipes.h)
//   validation   validation, val, eval, test, validation_0 or val_0; else val/ of the training
//                channel
//   checkpoints  LocalPath of checkpointconfig.json, SSM_INSTANCE_STATE, BASE/checkpoints
//   tensorboard  LocalPath of tensorboardoutputconfig.json, SSM_TENSORBOARD_DIR,
//                BASE/output/tensorboard
//   output       SM_OUTPUT_DATA_DIR, SSM_OUTPUT, BASE/output/data
//   model        SM_MODEL_DIR, BASE/model
//   cache        shoal/ in SAGEMAKER_MANAGED_WARMPOOL_CACHE_DIRECTORY, TMPDIR/shoal-cache (default
//                of TMPDIR: /tmp)
//
// train/ can also be named training/; val/ can also be named validation/, eval/ or test/. If a
// channel contains both, each split uses its own folder.
//
// BASE is SAGEMAKER_BASE_DIR, else /opt/ml (platform.h). Outside a training container, TMPDIR is
// not used, and BASE is used only for channels in SM_CHANNELS whose own variable is not set.

#include <optional>
#include <string>
#include <vector>

#include "app/platform/files.h"
#include "dist/env/env.h"

namespace shoal::app {

struct PathWithOrigin {
  std::string path;
  std::string origin;  // "SM_CHANNEL_TRAIN", "channel train", "checkpointconfig.json"
  bool operator==(const PathWithOrigin&) const = default;
};

struct Paths {
  std::optional<PathWithOrigin> train, val;
  std::optional<PathWithOrigin> checkpoints, tensorboard, output, model, cache;
  std::optional<PathWithOrigin> pretrained;  // the channel with initial weights
  std::vector<std::string> channels;  // channels that may contain images, sorted; for messages
  bool train_sharded = false, val_sharded = false;  // S3DistributionType is ShardedByS3Key
  bool fast_files = false;                          // `train` or `val` has input mode FastFile
};

// Returns the default paths. `with_data`: also finds train and val. Throws UserError if SM_CHANNELS
// or a configuration file is malformed, if several channels could be the training data, or if
// several numbered channels (NAME_0, NAME_1, …) are not all pipes.
Paths find_paths(const dist::Variables& environment, const Files& files, bool with_data);

}  // namespace shoal::app
