#pragma once
// Where a container or a launching tool wants things, when the user does not say. Pure. Torch-free.
//
// Channels are folders of input data. Their names come from SM_CHANNELS, SM_CHANNEL_NAME (and
// SSM_CHANNEL_NAME), the keys of inputdataconfig.json, and the folders in BASE/input/data; a
// channel lies where its variable says, else in BASE/input/data/NAME. code, model, sm_drivers and
// pretrained hold no images.
//
//   training     train, training or train_0; else a channel that holds train/ and val/ (imagenet
//                and data before others); else the only other channel
//                pipes (TrainingInputMode) are "pipe:BASE/input/data/NAME"; train_0 … train_3 are
//                "pipe:BASE/input/data/train_{0..3}" (app/launch/pipes.h)
//   validation   validation, val, eval, test or validation_0; else val/ of the one that holds both
//   checkpoints  LocalPath of checkpointconfig.json, SSM_INSTANCE_STATE, BASE/checkpoints
//   output       SM_OUTPUT_DATA_DIR, SSM_OUTPUT, BASE/output/data
//   model        SM_MODEL_DIR, BASE/model
//   cache        the warm pool's folder, TMPDIR/shoal-cache (TMPDIR: /tmp unless it is set)
//
// BASE counts only in a training container (platform.h).

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
  std::optional<Place> pretrained;                  // the channel of weights to start from
  std::vector<std::string> channels;                // of data, sorted; for messages
  bool train_sharded = false, val_sharded = false;  // by S3DistributionType ShardedByS3Key
  bool fast_files = false;                          // a channel of data is in FastFile mode
};

// `with_data`: train and val are asked for. Throws UserError: a configuration file is no
// JSON object; several channels could be the training data; channels NAME_0, NAME_1
// … that are no pipes.
Paths find_paths(const dist::Variables& environment, const Files& files, bool with_data);

}  // namespace shoal::app
