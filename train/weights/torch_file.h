#pragma once
// Reads weights from a file of Python's torch.save: a state dict, or a dict that contains state
// dicts, like the checkpoints of torchvision, timm and the ImageNet example. Supports the zip
// format (PyTorch 1.6 and later) and the older one. Source: Python's pickletools (opcodes),
// PyTorch's torch/serialization.py.
//
// Does not execute anything in the file. Recognizes dicts, parameters and tensors; ignores all
// other classes.

#include <string>
#include <vector>

#include "train/checkpoint/checkpoint_file.h"

namespace shoal::train {

// One state dict of a file.
struct StateDict {
  std::string entry;      // path of keys: "state_dict_ema", "ema.module"; empty: the top level
  bool averaged = false;  // whether the entry's name means averaged weights (EMA)
  // Tensors by name, without wrapper prefixes (module., _orig_mod.). Contiguous CPU copies.
  NamedTensors tensors;
};

// Returns the state dict at the key `entry`. If `entry` is empty, returns the first of model_ema,
// state_dict_ema, ema, state_dict and model that exists, otherwise the only state dict of the file.
// `where` appears in messages. Throws std::runtime_error if the bytes are damaged or contain no
// state dict; UserError if there is no such entry, if the choice is ambiguous, or if a whole model
// was pickled.
StateDict read_torch_file(const std::vector<char>& bytes, const std::string& where,
                          const std::string& entry = "");

// Whether the bytes start like a torch.save file of a PyTorch version before 1.6.
bool is_legacy_torch_file(const std::vector<char>& bytes);

}  // namespace shoal::train
