#pragma once
// The names that other programs give to the tensors of a network. shoal's own names are
// torchvision's. A new family is one function and one row in name_families.cpp. Does not use
// LibTorch.

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

// Where a tensor is in an EfficientNet or MobileNetV3, parsed from its name. An inverted residual
// block has up to four parts: expand, depthwise, squeeze, project. A fused one: `fused`, a k×k
// convolution, and `project` if it expands. MobileNetV3's head is a fused block; `hidden` is the
// layer before its classifier.
struct Place {
  enum class Part { stem, expand, depthwise, squeeze, project, fused, head, hidden, classifier };
  Part part = Part::stem;
  bool norm = false;      // of the batch norm, not of the convolution before it
  bool expands = false;   // whether the block has several convolutions, the first of which expands
  bool in_fused = false;  // whether the block is a fused one
  int stage = 0, block = 0;  // from 0; the number of the block within its stage
  int index = 0;             // from 0; the number of the block in the network
  std::string leaf;          // the end of the name: "weight", "running_var", "fc1.bias"
};

struct NameFamily {
  const char* name;  // "timm"
  // Returns an empty string if the program has no such networks. Null: the same names as
  // torchvision's.
  std::string (*rename)(const Place& place);
  // Batch norm's eps in networks of this program; 0: as in shoal's.
  double batch_norm_eps;
  // Whether its networks pad like TensorFlow's "same", in which strided convolutions of images with
  // an even size have one pixel less padding at the top and left.
  bool same_padding;
};

// Returns all families; torchvision's is the first.
const std::vector<NameFamily>& name_families();

// Batch norm's eps in timm's networks tf_*, which have timm's names but TensorFlow's padding.
inline constexpr double kTensorFlowEps = 1e-3;

// Returns the names of a model's tensors in a family, in the same order; empty if the family has no
// names for such a model.
std::vector<std::string> names_in(const NameFamily& family, const TensorShapes& model);

// Returns the name without the prefixes that wrappers add: module. (DataParallel), _orig_mod.
// (torch.compile) and model. (Lightning).
std::string without_wrappers(std::string_view name);

// Removes the wrappers' prefixes from the names of `tensors`, a list of names and values. Throws
// UserError, with a text that continues the file's name, if two names become equal.
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
