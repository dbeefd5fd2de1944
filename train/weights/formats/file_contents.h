#pragma once
// Lists the contents of a weights file: a checkpoint of shoal, either format of torch.save, or
// safetensors. Copies no tensors. Executes nothing in the file. Does not use LibTorch.

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "train/weights/formats/stored_tensor.h"

namespace shoal::train {

struct FileContents {
  using Texts = std::vector<std::pair<std::string, std::string>>;  // name → value
  // The tensors below one top-level key. Their names are paths of keys below it, such as
  // "state.0.momentum_buffer" for an optimizer.
  struct Entry {
    std::string name;  // empty: the file is a single state dict
    StoredTensors tensors;
  };
  std::string format;  // "checkpoint of shoal, zip of torch.save", "safetensors", …
  bool is_ours = false;
  std::vector<Entry> entries;
  // `used` and `weights` are empty if there is no state dict, or several and none is preferred.
  std::string used;       // name of the entry that --weights uses, a path of keys: "ema.module"
  StoredTensors weights;  // tensors of that entry, without prefixes of wrappers
  // Other top-level values, at most 1000: numbers, texts, class names of objects, and tensors that
  // are in no entry (a number if they have one element, otherwise shape and dtype).
  Texts values;
  Texts settings;  // the run's settings, in files of shoal
  std::vector<std::string> classes;

  std::string value(const std::string& name) const;  // looks in `values`; "" if missing
};

// Lists the contents of a file. The tensors point into `bytes`. Throws UserError if the file
// contains no weights, std::runtime_error if it is damaged; both name `file`.
FileContents read_contents(std::span<const char> bytes, const std::string& file);

const char* name_of(Element element);  // "float32"

}  // namespace shoal::train
