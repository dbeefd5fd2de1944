#pragma once
// Names that other programs give to the tensors of a network. shoal uses torchvision's names. To
// add a family, write one function and one row in name_families.cpp. Does not use LibTorch.

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace shoal::train {

// Name and shape of a parameter or buffer.
struct TensorShape {
  std::string name;
  std::vector<int64_t> sizes;
};
using TensorShapes = std::vector<TensorShape>;

// Returns the names of num_batches_tracked counters that are missing in `names`: every running_mean
// should have one. PyTorch before 0.4.1 did not save the counters.
std::vector<std::string> missing_counters(const std::vector<std::string>& names);

// Where a tensor is in an EfficientNet or MobileNet, parsed from its name. An inverted residual
// block has up to four parts: expand, depthwise, squeeze, project. A fused block has the part
// `fused` (a k×k convolution) and, if it expands, also `project`. MobileNetV3's last convolution
// counts as a fused block. `hidden` is the layer before MobileNetV3's classifier.
struct Place {
  enum class Part { stem, expand, depthwise, squeeze, project, fused, head, hidden, classifier };
  Part part = Part::stem;
  bool norm = false;         // tensor of a batch norm; false: of a convolution or linear layer
  bool expands = false;      // whether the block's first convolution expands the channels
  bool in_fused = false;     // whether the block is a fused one
  bool mobile = false;       // whether the network is a MobileNet
  int stage = 0, block = 0;  // from 0; block: number within its stage
  int index = 0;             // from 0; number of the block in the network
  std::string leaf;          // end of the name: "weight", "running_var", "fc1.bias"
};

struct NameFamily {
  const char* name;  // "timm"
  // Returns a tensor's name in the program `name`; empty if that program does not have the tensor's
  // network. The pointer is null for torchvision, whose names shoal uses.
  std::string (*rename)(const Place& place);
  // Batch norm's eps in this program's networks; 0: the same as in shoal's.
  double batch_norm_eps;
  // Whether this program's networks pad like TensorFlow's "same": with images of an even size,
  // strided convolutions pad one pixel less at the top and left than at the bottom and right.
  bool same_padding;
};

// Returns all families; torchvision's is the first.
const std::vector<NameFamily>& name_families();

// Batch norm's eps in efficientnet_pytorch and in timm's tf_* networks. The latter have timm's
// names but TensorFlow's padding.
inline constexpr double kTensorFlowEps = 1e-3;

// Returns the names of a model's tensors in a family, in the order of `model`; an empty list if the
// family has no names for such a model. `model` has torchvision's names.
std::vector<std::string> names_in(const NameFamily& family, const TensorShapes& model);

// Returns the name without the prefixes that wrappers add: module. (DataParallel), _orig_mod.
// (torch.compile) and model. (Lightning).
std::string without_wrappers(std::string_view name);

// Removes the wrappers' prefixes from the names of `tensors`, a list of names and values. Throws
// UserError if two names become equal; the caller adds the file's name to the message.
template <class Tensors>
void remove_wrappers(Tensors& tensors) {
  std::set<std::string> names;
  for (auto& [name, value] : tensors) {
    name = without_wrappers(name);
    if (!names.insert(name).second)
      throw UserError("contains the tensor '" + name.substr(0, 200) +
                      "' twice, with different prefixes such as module.; save only one set of "
                      "weights");
  }
}

}  // namespace shoal::train
