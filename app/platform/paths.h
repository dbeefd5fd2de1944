#pragma once
// Default paths in a container or under a launching tool. Pure. Torch-free.
//
// A channel is a folder of input data. Its name comes from SM_CHANNELS, SM_CHANNEL_NAME (or
// SSM_CHANNEL_NAME), a key of inputdataconfig.json, or a folder in BASE/input/data. Its path comes from
// its variable, else it is BASE/input/data/NAME. The channels code, model, sm_drivers and pretrained
// contain no images.
//
//   training     train, training or train_0; else a channel that contains train/ and val/ (first
//                imagenet, then data, then others); else the only other channel
//                pipes (TrainingInputMode) become "pipe:BASE/input/data/NAME"; train_0 … train_3 become
//                "pipe:BASE/input/data/train_{0..3}" (app/launch/pipes.h)
//   validation   validation, val, eval, test or validation_0; else val/ of the channel with both
//   checkpoints  LocalPath of checkpointconfig.json, SSM_INSTANCE_STATE, BASE/checkpoints
//   output       SM_OUTPUT_DATA_DIR, SSM_OUTPUT, BASE/output/data
//   model        SM_MODEL_DIR, BASE/model
//   cache        the warm pool's folder, TMPDIR/shoal-cache (TMPDIR: /tmp unless it is set)
//
// BASE is used only in a training container (platform.h).

#include <optional>
#include <string>
#include <vector>

#include "app/platform/files.h"
#include "dist/env/env.h"

namespace shoal::app {

struct Place {
  std::string path;
  std::string origin;  // "SM_CHANNEL_TRAIN", "channel train", "checkpointconfig.json"
  bool operator==(const Place&) const = default;
};

struct Paths {
  std::optional<Place> train, val;
  std::optional<Place> checkpoints, output, model, cache;
  std::optional<Place> pretrained;                  // the channel with weights to start from
  std::vector<std::string> channels;                // with data, sorted; for messages
  bool train_sharded = false, val_sharded = false;  // S3DistributionType is ShardedByS3Key
  bool fast_files = false;                          // a data channel has input mode FastFile
};

// `with_data`: also find train and val. Throws UserError if a configuration file is no JSON object, if
// several channels could be the training data, or if channels NAME_0, NAME_1 … are no pipes.
Paths find_paths(const dist::Variables& environment, const Files& files, bool with_data);

}  // namespace shoal::app
