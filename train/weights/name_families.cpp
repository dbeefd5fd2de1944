#include "train/weights/name_families.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/text.h"

namespace shoal::train {
namespace {

using Part = Place::Part;

// Source: timm/models/_efficientnet_blocks.py. The names of a block's layers depend on whether the
// block expands the channels.
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
      if (place.in_fused) return block + of("conv_pwl", "bn2");
      return block + (place.expands ? of("conv_pwl", "bn3") : of("conv_pw", "bn2"));
    case Part::fused:
      return block + of(place.expands ? "conv_exp" : "conv", "bn1");
    case Part::head:
      return of("conv_head", "bn2");
    case Part::hidden:
      return "conv_head." + place.leaf;
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
  if (place.in_fused || place.mobile) return "";
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
    case Part::fused:
    case Part::hidden:
      return "";
    default:
      return "_fc." + place.leaf;
  }
}

// Parses torchvision's names. PART is the number of a part in its block, from 0.
//
//   EfficientNet  features.0.{0,1} (stem), features.STAGE.BLOCK.block.PART.{0,1,fc1,fc2},
//                 features.LAST.{0,1} (head), classifier.1
//   MobileNetV3   features.BLOCK.block.PART.{0,1,fc1,fc2}, classifier.0, classifier.3; stem and
//                 head as in EfficientNet
//   MobileNetV2   features.BLOCK.conv.PART.{0,1}, without .{0,1} for the last convolution and its
//                 batch norm; the rest as in EfficientNet
class Parser {
 public:
  explicit Parser(const TensorShapes& model) {
    for (const auto& tensor : model) {
      v2_ |= is_v2(split(tensor.name, '.'));
      const std::vector<std::string> words = words_of(tensor.name);
      if (const auto at = place_of_block(words)) add(blocks_[at->key], *at, words, tensor.sizes);
    }
    int index = 0, stage = 0, number = 0;
    for (auto& [key, block] : blocks_) {
      // In a MobileNet, a block that changes the number of channels begins a stage. In a
      // MobileNetV2 of 17 blocks, the fourth block always begins a stage, although at width 0.5 it
      // keeps the number of channels.
      const bool fourth = v2_ && blocks_.size() == 17 && index == 3;
      if (index > 0 && (block.in != block.out || fourth)) ++stage, number = 0;
      block.stage = mobile_ ? stage : key.first - 1;
      block.number = mobile_ ? number++ : key.second;
      block.index = index++;
    }
    stages_ = stage + 1;
  }

  // Returns nullopt for names of other networks.
  std::optional<Place> parse(const std::string& name) const {
    const std::vector<std::string> words = words_of(name);
    if (const auto at = place_of_block(words)) return in_block(*at, words);
    if (words.size() == 3 && words[0] == "classifier")
      return Place{.part = words[1] == "0" ? Part::hidden : Part::classifier,
                   .mobile = mobile_,
                   .leaf = words[2]};
    if (words.size() != 4 || words[0] != "features" || blocks_.empty()) return std::nullopt;
    Place place{.norm = words[2] == "1", .mobile = mobile_, .leaf = words[3]};
    if (words[1] == "0") return place;
    const bool v3 = mobile_ && !v2_;
    place.part = v3 ? Part::fused : Part::head;
    place.in_fused = v3;
    place.stage = v3 ? stages_ : 0;
    return place;
  }

 private:
  struct Block {
    int last = 0, squeeze = -1;  // PART of the last part and of squeeze-excite (-1: none)
    bool fused = false;
    int64_t in = 0, out = 0;  // channels
    int stage = 0, number = 0, index = 0;
  };
  struct InBlock {
    std::pair<int, int> key;
    int part;
    size_t layer;  // index of the word that names the layer
  };

  static bool is_number(const std::string& word) {
    return !word.empty() && word.find_first_not_of("0123456789") == word.npos && word.size() < 6;
  }
  static bool is_v2(const std::vector<std::string>& words) {
    return words.size() >= 5 && words[0] == "features" && words[2] == "conv";
  }
  // Splits a name. Changes MobileNetV2's names to the form features.BLOCK.block.PART.LAYER.LEAF.
  static std::vector<std::string> words_of(const std::string& name) {
    std::vector<std::string> words = split(name, '.');
    if (!is_v2(words)) return words;
    words[2] = "block";
    if (words.size() > 5) return words;
    const std::string last = words[1] == "1" ? "1" : "2";  // the first block does not expand
    words.insert(words.begin() + 4, words[3] == last ? "0" : "1");
    words[3] = last;
    return words;
  }
  // features.STAGE.BLOCK.block.PART.LAYER.LEAF, or features.BLOCK.block.PART.LAYER.LEAF
  static std::optional<InBlock> place_of_block(const std::vector<std::string>& words) {
    const bool mobile = words.size() == 6 && words[2] == "block";
    if (!mobile && !(words.size() == 7 && words[3] == "block")) return std::nullopt;
    const size_t part = mobile ? 3 : 4;
    if (words[0] != "features" || !is_number(words[1]) || !is_number(words[part]) ||
        !(mobile || is_number(words[2])))
      return std::nullopt;
    return InBlock{
        {std::stoi(words[1]), mobile ? 0 : std::stoi(words[2])}, std::stoi(words[part]), part + 1};
  }

  void add(Block& block, const InBlock& at, const std::vector<std::string>& words,
           const std::vector<int64_t>& sizes) {
    mobile_ |= words.size() == 6;
    block.last = std::max(block.last, at.part);
    if (words[at.layer].starts_with("fc")) block.squeeze = at.part;
    if (words[at.layer] != "0" || sizes.size() != 4) return;
    const bool depthwise = sizes[1] == 1;
    if (at.part == 0) block.in = depthwise ? sizes[0] : sizes[1];
    if (at.part == 0) block.fused = !depthwise && sizes[2] > 1;
    if (at.part == block.last) block.out = sizes[0];
  }

  Place in_block(const InBlock& at, const std::vector<std::string>& words) const {
    const Block& block = blocks_.at(at.key);
    const int depthwise = (block.squeeze < 0 ? block.last : block.squeeze) - 1;
    Place place{.part = block.fused && at.part == 0 ? Part::fused
                        : at.part == block.last     ? Part::project
                        : at.part == block.squeeze  ? Part::squeeze
                        : at.part == depthwise      ? Part::depthwise
                                                    : Part::expand,
                .norm = words[at.layer] == "1",
                .expands = block.fused ? block.last > 0 : depthwise > 0,
                .in_fused = block.fused,
                .mobile = mobile_,
                .stage = block.stage,
                .block = block.number,
                .index = block.index,
                .leaf = words.back()};
    if (place.part == Part::squeeze) place.leaf = words[at.layer] + "." + words.back();
    return place;
  }

  std::map<std::pair<int, int>, Block> blocks_;
  bool mobile_ = false, v2_ = false;  // whether this is a MobileNet of any version; a MobileNetV2
  int stages_ = 0;
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
    names.push_back(place ? family.rename(*place) : "");
    if (names.back().empty()) return {};
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

std::vector<std::string> missing_counters(const std::vector<std::string>& names) {
  const std::set<std::string> known(names.begin(), names.end());
  const std::string mean = ".running_mean";
  std::vector<std::string> missing;
  for (const std::string& name : known) {
    if (!name.ends_with(mean)) continue;
    std::string counter = name.substr(0, name.size() - mean.size()) + ".num_batches_tracked";
    if (!known.contains(counter)) missing.push_back(std::move(counter));
  }
  return missing;
}

}  // namespace shoal::train
