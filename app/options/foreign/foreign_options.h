#pragma once
// Options of other training programs, so that shoal accepts their command lines and hyperparameters
// unchanged. Does not use LibTorch.
//
// A table maps each of their options to one of ours, or gives the reason why the option has no
// effect. docs/reference_flags.md lists the same rows, and a test compares the two. Options that
// shoal has under the same name are not in the table: they have the same meaning, with the
// exceptions that resolve_foreign() handles.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/options/options.h"

namespace shoal::app {

// Bits for the programs that have an option.
enum Program : unsigned {
  kImagenet = 1,          // PyTorch's imagenet example, main.py
  kNvidiaPyTorch = 2,     // NVIDIA DeepLearningExamples, PyTorch ConvNets, main.py
  kNvidiaTensorFlow = 4,  // NVIDIA DeepLearningExamples, TensorFlow 2 EfficientNet; SMDDP
  kTimm = 8,              // timm's train.py and torchvision's references
};

using Pairs = std::vector<std::pair<std::string, std::string>>;  // our option and its value

struct ForeignOption {
  std::string name;  // with '-' for '_'; a single letter means -x
  unsigned programs = 0;
  Kind kind = Kind::value;
  std::string ours;     // the (main) option of ours that it sets; empty: no effect
  std::string meaning;  // how the value is translated, or why it has no effect; or empty
  // Converts the value to settings of our options. Null: `ours` gets the value itself. Throws
  // UserError for a value without equivalent in shoal.
  Pairs (*translate)(const std::string& value) = nullptr;
  bool numbers = false;  // whether the value may be several numbers, each a word
};

const std::vector<ForeignOption>& foreign_options();

// Returns the row with that name ('_' and '-' are the same), or null.
const ForeignOption* find_foreign(std::string_view name);

// Translates one of their options into settings of ours; a flag that is off gives none. `encoded`:
// the value as given (encodings.h). An option without effect adds a line to `ineffective`. Throws
// UserError.
Pairs translate(const ForeignOption& option, const std::string& encoded,
                std::vector<std::string>& ineffective);

// Returns the name of the recipe with the defaults of the program that the option identifies. Empty
// if the option identifies no program.
std::string defaults_of(const ForeignOption& option);

// Handles options whose meaning depends on other options. Removes settings without effect from
// `ours` and explains each in `ineffective`:
//
//   --ra-reps       has an effect only with torchvision's --ra-sampler; it then replaces the count
//                   of 3 that --ra-sampler sets
//   --model-ema-decay   likewise with timm's --model-ema
//   --lr-base, --lr-base-size   have an effect only without --lr. --lr-base-size also has none with
//                   AdamW: timm scales AdamW's learning rate by the square root, shoal linearly
//   --warmup-lr     is divided by --lr, to give --warmup-start; has no effect without --lr
//   warmup_epochs   in SMDDP's program: epochs to leave out of its measurements. In shoal: the
//                   warm-up of the learning rate, which SMDDP calls lr_warmup_epochs
//
// `defaults`: the recipe of the program that the options identify, or empty. `words`: the command
// line. It shows whether --warmup_epochs was written with an underscore, as in SMDDP's program.
void resolve_foreign(const std::string& defaults, const std::vector<std::string>& words,
                     std::vector<Setting>& ours, std::vector<std::string>& ineffective);

// The recipe to use if the data folder is given without --data, as for PyTorch's imagenet example.
inline constexpr const char* kImagenetRecipe = "imagenet_example";

}  // namespace shoal::app
