#pragma once
// Finds the state dict in a file of Python's torch.save: the top-level dict itself or one inside
// it, as in checkpoints of torchvision, timm and PyTorch's imagenet example. Does not use LibTorch.

#include <string>

#include "train/weights/formats/torch_archive.h"

namespace shoal::train {

// One state dict of a file.
struct StoredStateDict {
  std::string entry;      // path of keys: "state_dict_ema", "ema.module"; empty: the top level
  bool averaged = false;  // whether the entry's name marks it as an EMA
  std::string arch;       // name of the network in the file; empty: none
  StoredTensors tensors;  // by name, without the prefixes of wrappers (weights/name_families.h)
};

// Returns the first state dict at or below the key `wanted`. If `wanted` is empty, returns the
// first of model_ema, state_dict_ema, ema, state_dict and model that exists, otherwise the only
// state dict of the file. The tensors point into the file's bytes. Throws std::runtime_error if the
// file is damaged. Throws UserError if there is no such entry or no state dict, if the choice is
// ambiguous, or if a whole model was pickled. The caller adds the file's name in front of the
// message.
StoredStateDict find_state_dict(TorchArchive& file, const std::string& wanted);

}  // namespace shoal::train
