#pragma once
// Weights in a file that Python's torch.save has written: a state dict, or a dict that holds some as
// torchvision's, timm's and the imagenet example's checkpoints do. Both formats: the zip of PyTorch
// 1.6 and later, and the one before. Source: Python's pickletools (opcodes of pickle), PyTorch's
// torch/serialization.py.
//
// Nothing in the file is executed: of the classes that a pickle may name only dicts, parameters and
// tensors become something, everything else is passed over.

#include <string>
#include <vector>

#include "train/checkpoint/checkpoint_file.h"

namespace shoal::train {

// One state dict of a file.
struct StateDict {
  std::string entry;      // keys that lead to it: "state_dict_ema", "ema.module"; empty: the top
  bool averaged = false;  // the entry's name says that it is an EMA
  // By their names without the prefixes of wrappers (module., _orig_mod.): contiguous copies on the
  // CPU.
  NamedTensors tensors;
};

// Returns the state dict under the key `entry`. An empty `entry` takes the first there is of
// model_ema, state_dict_ema, ema, state_dict and model, else the only state dict of the file. `where`
// appears in messages. Throws std::runtime_error when the bytes are damaged or hold no state dict,
// UserError when there is no such entry, several are equally likely, or a whole model was pickled.
StateDict read_torch_file(const std::vector<char>& bytes, const std::string& where,
                          const std::string& entry = "");

// Whether the bytes begin as a file of PyTorch before 1.6 does.
bool is_legacy_torch_file(const std::vector<char>& bytes);

}  // namespace shoal::train
