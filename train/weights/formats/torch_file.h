#pragma once
// Reads weights from a file of Python's torch.save. Does not execute anything in the file.
// Recognizes dicts, parameters and tensors; ignores all other classes.

#include <string>
#include <vector>

#include "train/weights/checkpoint_file.h"

namespace shoal::train {

// One state dict of a file.
struct StateDict {
  std::string entry;      // path of keys: "state_dict_ema", "ema.module"; empty: the top level
  bool averaged = false;  // whether the entry's name marks it as an EMA
  std::string arch;       // name of the network in the file; empty: none
  // Tensors by name, without the prefixes of wrappers (name_families.h). Contiguous CPU copies.
  NamedTensors tensors;
};

// Returns the state dict that find_state_dict() (state_dict.h) finds for the key `entry`, which may
// be empty. `where` appears in messages. Throws std::runtime_error if the bytes are damaged,
// UserError in the same cases as find_state_dict().
StateDict read_torch_file(const std::vector<char>& bytes, const std::string& where,
                          const std::string& entry = "");

}  // namespace shoal::train
