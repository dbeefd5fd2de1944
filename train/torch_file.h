#pragma once
// Weights in a file that Python's torch.save has written (the zip format, PyTorch 1.6 and later): a
// state dict, or a dict that holds one as torchvision's, timm's and the imagenet example's
// checkpoints do. Source: Python's pickletools (opcodes of pickle), PyTorch's
// torch/serialization.py.
//
// Nothing in the file is executed: of the classes that a pickle may name only dicts, parameters and
// tensors become something, everything else is passed over.

#include <string>
#include <vector>

#include "train/checkpoint_file.h"

namespace shoal::train {

// The tensors by their names, without the prefixes that wrappers put there (module., _orig_mod.):
// contiguous copies on the CPU. Looked for under "state_dict", then "model", then at the top.
// `where` stands in messages. Throws std::runtime_error when the bytes are damaged or hold no state
// dict.
NamedTensors read_torch_file(const std::vector<char>& bytes, const std::string& where);

}  // namespace shoal::train
