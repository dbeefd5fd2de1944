#pragma once
// Options of other training programs, so that shoal accepts their command lines and hyperparameters
// unchanged. Does not use LibTorch.
//
// A table maps each option to one of shoal's, or states why it has no effect.
// docs/reference_flags.md lists the same rows, and a test compares the two. Options that shoal has
// under the same name are not in the table: they have the same meaning, except for those that
// resolve_foreign() handles.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/options/options.h"

namespace shoal::app {

// The programs whose options are known, as bits for ForeignOption::programs. SMDDP is SageMaker's
// library for data-parallel training; its EfficientNet examples are based on NVIDIA's.
enum Program : unsigned {
  kImagenet = 1,          // PyTorch's imagenet example, main.py
  kNvidiaPyTorch = 2,     // NVIDIA DeepLearningExamples, PyTorch ConvNets, main.py
  kNvidiaTensorFlow = 4,  // NVIDIA DeepLearningExamples, TensorFlow 2 EfficientNet; SMDDP
  kTimm = 8,              // timm's train.py and torchvision's references
};

using Pairs = std::vector<std::pair<std::string, std::string>>;  // shoal's option, its value

struct ForeignOption {
  std::string name;       // written with '-', never '_'; one letter: the option -x
  unsigned programs = 0;  // bits of Program
  Kind kind = Kind::value;
  std::string ours;     // shoal's option that it sets (if several, the main one); empty: no effect
  std::string meaning;  // how the value is translated, or why it has no effect; or empty
  // Converts the value to shoal's options and their values. Throws UserError for a value that shoal
  // has no equivalent for. Null: `ours` gets the value unchanged.
  Pairs (*translate)(const std::string& value) = nullptr;
  bool numbers = false;  // whether the value may be several numbers, each a separate word
};

const std::vector<ForeignOption>& foreign_options();

// Returns the row with that name ('_' and '-' are the same), or null.
const ForeignOption* find_foreign(std::string_view name);

// Translates another program's option to shoal's options. Returns an empty list for a flag that is
// off and for the values null and None. `encoded`: the value as given (encodings.h). An option
// without effect adds a line to `ineffective`. Throws UserError if the value is not valid.
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
//   --model-ema-decay   has an effect only with timm's --model-ema, whose decay it replaces
//   --lr-base, --lr-base-size   have no effect if --lr is given, unless --lr comes from a source
//                   with lower precedence than --lr-base, which then replaces --lr. With adamw,
//                   adam and lamb, --lr-base throws UserError and --lr-base-size has no effect:
//                   timm scales their learning rate by the square root of the batch size, shoal
//                   linearly
//   --opt lamb      includes --clip 1, as timm's LAMB does, unless the clipping norm is given.
//                   Other options include values too, such as --eps; a given value replaces these
//   --optimizer     if `defaults` is smddp_efficientnet: momentum means SGD, sgd means SGD without
//                   momentum
//   --warmup-lr     is divided by --lr, to give --warmup-start; has no effect without --lr
//   warmup_epochs   has no effect if `defaults` is smddp_efficientnet: the program that this recipe
//                   imitates uses warmup_epochs only to exclude these epochs from its
//                   measurements; the length of its warm-up is lr_warmup_epochs
//
// `defaults`: the recipe of the program that the options identify, or empty. `words`: the command
// line, which shows whether --warmup_epochs was written with an underscore, as SMDDP's program
// spells it.
void resolve_foreign(const std::string& defaults, const std::vector<std::string>& words,
                     std::vector<Setting>& ours, std::vector<std::string>& ineffective);

// The recipe to use if the data folder is given without --data, as for PyTorch's imagenet example.
inline constexpr const char* kImagenetRecipe = "imagenet_example";

}  // namespace shoal::app
