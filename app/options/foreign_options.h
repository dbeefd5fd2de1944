#pragma once
// Options of the programs that shoal replaces, so that their command lines and hyperparameters run
// as they are. Torch-free.
//
// One table says for each of their names which of our options it sets, or why it has no effect
// here; docs/reference_flags.md shows it to people. A name that is an option of ours too is not in
// it: there both mean the same.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/options/options.h"

namespace shoal::app {

// Which program calls it so; bits.
enum Program : unsigned {
  kImagenet = 1,          // PyTorch's imagenet example, main.py
  kNvidiaPyTorch = 2,     // NVIDIA DeepLearningExamples, PyTorch ConvNets, main.py
  kNvidiaTensorFlow = 4,  // the same, TensorFlow 2 EfficientNet; the SMDDP examples took it over
  kTimm = 8,              // timm's train.py and torchvision's references
};

using Pairs = std::vector<std::pair<std::string, std::string>>;  // our option, value

struct ForeignOption {
  std::string name;  // with '-' for '_'; one letter: -x
  unsigned programs = 0;
  Kind kind = Kind::value;
  std::string ours;     // the option it sets above all; empty: it has no effect
  std::string meaning;  // how the value is changed, or why there is no effect; may be empty
  // Value → what to set. Null: `ours` to the value. Throws UserError for a value that
  // cannot be followed.
  Pairs (*translate)(const std::string& value) = nullptr;
};

const std::vector<ForeignOption>& foreign_options();

// The row of that name ('_' and '-' are the same), or null.
const ForeignOption* find_foreign(std::string_view name);

// What an option of theirs means here; a flag that is off means nothing. `encoded`: the value as it
// came (encodings.h). An option without effect adds a line to `ineffective`. Throws UserError.
Pairs translate(const ForeignOption& option, const std::string& encoded,
                std::vector<std::string>& ineffective);

// The recipe with the defaults of the program that this option betrays; empty for the others.
std::string defaults_of(const ForeignOption& option);

// The recipe that a data folder without a name in front asks for: the imagenet example's.
inline constexpr const char* kImagenetRecipe = "imagenet_example";

}  // namespace shoal::app
