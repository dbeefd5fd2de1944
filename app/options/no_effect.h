#pragma once
// Reports which of the given options have no effect in this run, and why. Does not use LibTorch.

#include <string>
#include <vector>

#include "app/options/options.h"

namespace shoal::app {

// The facts that decide whether an option has an effect.
struct Circumstances {
  const Arguments& arguments;
  const train::ResolvedJob& run;
  bool continued = false;  // the run continues from a checkpoint
};

// One reason why options have no effect.
struct NoEffect {
  std::vector<std::string> options;
  std::string why;  // text after "--NAME has no effect": ": REASON" or " in training: …"
  bool (*holds)(const Circumstances&);
  bool of_hosts = false;  // depends on the number of hosts, so mark_effects() ignores the row
};

const std::vector<NoEffect>& no_effect_table();

// Returns one line per option without effect: "--decay-rate has no effect: --schedule is not step".
// The parser's lines (Arguments::ineffective) come first. Omits options that are off, and options
// that a recipe, a checkpoint or SageMaker's environment set.
std::vector<std::string> no_effect(const Circumstances& circumstances);

// Returns the line of one option, with the first reason that holds; empty if the option has an
// effect, is off, or was not given by the user.
std::string no_effect_of(const Option& option, const Circumstances& circumstances);

// Sets SavedSetting::effective for the settings in `run` that --resume may refuse to change.
// --resume accepts a change of a setting that has no effect in either run.
void mark_effects(const Arguments& arguments, train::ResolvedJob& run);

}  // namespace shoal::app
