#include "train/weights/name_families.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "base/text.h"

namespace shoal::train {
namespace {

using Part = Place::Part;

// Source: timm/models/_efficientnet_blocks.py. Blocks without expansion have other names.
std::string timm_name(const Place& place) {
  const std::string block =
      "blocks." + std::to_string(place.stage) + "." + std::to_string(place.block) + ".";
  const auto of = [&place](const char* convolution, const char* norm) {
    return (place.norm ? norm : convolution) + ("." + place.leaf);
  };
  switch (place.part) {
    case Part::stem:
      return of("conv_stem", "bn1");
    case Part::expand:
      return block + of("conv_pw", "bn1");
    case Part::depthwise:
      return block + of("conv_dw", place.expands ? "bn2" : "bn1");
    case Part::squeeze:
      return block + (place.leaf.starts_with("fc1") ? "se.conv_reduce" : "se.conv_expand") +
             place.leaf.substr(3);
    case Part::project:
      return block + (place.expands ? of("conv_pwl", "bn3") : of("conv_pw", "bn2"));
    case Part::head:
      return of("conv_head", "bn2");
    default:
      return "classifier." + place.leaf;
  }
}

// Source: efficientnet_pytorch/model.py. efficientnet_lite_pytorch has the same names.
std::string efficientnet_pytorch_name(const Place& place) {
  const std::string block = "_blocks." + std::to_string(place.index) + ".";
  const auto of = [&place](const char* convolution, const char* norm) {
    return (place.norm ? norm : convolution) + ("." + place.leaf);
  };
  switch (place.part) {
    case Part::stem:
      return of("_conv_stem", "_bn0");
    case Part::expand:
      return block + of("_expand_conv", "_bn0");
    case Part::depthwise:
      return block + of("_depthwise_conv", "_bn1");
    case Part::squeeze:
      return block + (place.leaf.starts_with("fc1") ? "_se_reduce" : "_se_expand") +
             place.leaf.substr(3);
    case Part::project:
      return block + of("_project_conv", "_bn2");
    case Part::head:
      return of("_conv_head", "_bn1");
    default:
      return "_fc." + place.leaf;
  }
}

// torchvision's names: features.0.{0,1} (stem), features.STAGE.BLOCK.block.PART.{0,1,fc1,fc2},
// features.LAST.{0,1} (head), classifier.1. The numbers of a block's parts depend on which it has.
class Parser {
 public:
  explicit Parser(const TensorShapes& model) {
    for (const auto& tensor : model) {
      const std::vector<std::string> words = split(tensor.name, '.');
      if (!in_block(words)) continue;
      Block& block = blocks_[{std::stoi(words[1]), std::stoi(words[2])}];
      const int part = std::stoi(words[4]);
      block.last = std::max(block.last, part);
      if (words[5].starts_with("fc")) block.squeeze = part;
    }
    int index = 0;
    for (auto& [key, block] : blocks_) block.index = index++;
  }

  // Returns nothing for a name that is not of an EfficientNet.
  std::optional<Place> parse(const std::string& name) const {
    const std::vector<std::string> words = split(name, '.');
    if (in_block(words)) return parse_block(words);
    if (words.size() == 3 && words[0] == "classifier")
      return Place{.part = Part::classifier, .leaf = words[2]};
    if (words.size() != 4 || words[0] != "features" || blocks_.empty()) return std::nullopt;
    return Place{.part = words[1] == "0" ? Part::stem : Part::head,
                 .norm = words[2] == "1",
                 .leaf = words[3]};
  }

 private:
  struct Block {
    int last = 0, squeeze = -1, index = 0;  // numbers of parts; -1: it has no squeeze-excite
  };
  static bool in_block(const std::vector<std::string>& words) {
    return words.size() == 7 && words[0] == "features" && words[3] == "block";
  }
  Place parse_block(const std::vector<std::string>& words) const {
    const std::pair key(std::stoi(words[1]), std::stoi(words[2]));
    const Block& block = blocks_.at(key);
    const int part = std::stoi(words[4]);
    const int depthwise = (block.squeeze < 0 ? block.last : block.squeeze) - 1;
    Place place{.part = part == block.last      ? Part::project
                        : part == block.squeeze ? Part::squeeze
                        : part == depthwise     ? Part::depthwise
                                                : Part::expand,
                .norm = words[5] == "1",
                .expands = depthwise > 0,
                .stage = key.first - 1,
                .block = key.second,
                .index = block.index,
                .leaf = words[6]};
    if (place.part == Part::squeeze) place.leaf = words[5] + "." + words[6];
    return place;
  }

  std::map<std::pair<int, int>, Block> blocks_;
};

}  // namespace

const std::vector<NameFamily>& name_families() {
  static const std::vector<NameFamily> table = {
      {"torchvision", nullptr, 0, false},
      {"timm", timm_name, 1e-5, false},
      {"efficientnet_pytorch", efficientnet_pytorch_name, kTensorFlowEps, true},
  };
  return table;
}

std::vector<std::string> names_in(const NameFamily& family, const TensorShapes& model) {
  std::vector<std::string> names;
  const Parser parser(model);
  for (const auto& tensor : model) {
    if (!family.rename) {
      names.push_back(tensor.name);
      continue;
    }
    const auto place = parser.parse(tensor.name);
    if (!place) return {};
    names.push_back(family.rename(*place));
  }
  return names;
}

std::string without_wrappers(std::string_view name) {
  for (bool more = true; more;) {
    more = false;
    for (const std::string_view prefix : {"module.", "_orig_mod.", "model."}) {
      if (!name.starts_with(prefix)) continue;
      name.remove_prefix(prefix.size());
      more = true;
    }
  }
  return std::string(name);
}

}  // namespace shoal::train
