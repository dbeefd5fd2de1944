#pragma once
// Options of the programs that shoal replaces, so that their command lines and hyperparameters run
// unchanged. Torch-free.
//
// One table maps each of their names to an option of ours, or gives the reason why it has no effect.
// docs/reference_flags.md documents it; a test compares the two. Names that shoal uses too are not
// in the table: they mean the same in both, except for those in resolve_foreign().

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/options/options.h"

namespace shoal::app {

// The programs that have the option; bits.
enum Program : unsigned {
  kImagenet = 1,          // PyTorch's imagenet example, main.py
  kNvidiaPyTorch = 2,     // NVIDIA DeepLearningExamples, PyTorch ConvNets, main.py
  kNvidiaTensorFlow = 4,  // the same, TensorFlow 2 EfficientNet, and the SMDDP examples
  kTimm = 8,              // timm's train.py and torchvision's references
};

using Pairs = std::vector<std::pair<std::string, std::string>>;  // our option, value

struct ForeignOption {
  std::string name;  // with '-' instead of '_'; one letter: -x
  unsigned programs = 0;
  Kind kind = Kind::value;
  std::string ours;     // the (main) option that it sets; empty: it has no effect
  std::string meaning;  // how the value is translated, or why there is no effect; may be empty
  // Value → what to set. Null: sets `ours` to the value. Throws UserError for a value that shoal
  // has no equivalent for.
  Pairs (*translate)(const std::string& value) = nullptr;
};

const std::vector<ForeignOption>& foreign_options();

// The row of that name ('_' and '-' are the same), or null.
const ForeignOption* find_foreign(std::string_view name);

// Translates an option of theirs into ours; a flag that is off becomes nothing. `encoded`: the value
// as given (encodings.h). An option without effect adds a line to `ineffective`. Throws UserError.
Pairs translate(const ForeignOption& option, const std::string& encoded,
                std::vector<std::string>& ineffective);

// Returns the recipe with the defaults of the program that this option identifies. Empty if
// several programs have it.
std::string defaults_of(const ForeignOption& option);

// Handles options whose meaning depends on another option. Drops them from `ours` and explains each
// in `ineffective`:
//
//   --ra-reps       alone does nothing; torchvision's --ra-sampler turns repeated augmentation on
//   warmup_epochs   of SMDDP's program is a number of epochs left out of its measurements, while
//                   ours is the learning rate's warm-up (theirs: lr_warmup_epochs)
//
// `defaults`: the recipe of the program that the options identify, or empty. `words`: the command
// line, which shows whether --warmup_epochs was written their way, with an underscore.
void resolve_foreign(const std::string& defaults, const std::vector<std::string>& words,
                     std::vector<Setting>& ours, std::vector<std::string>& ineffective);

// The recipe for a data folder given without --data, as for the imagenet example.
inline constexpr const char* kImagenetRecipe = "imagenet_example";

}  // namespace shoal::app
