#pragma once
// Which of the options that the user named do nothing in this run, and why. Torch-free.

#include <string>
#include <vector>

#include "app/options/options.h"

namespace shoal::app {

// What a row may look at.
struct Circumstances {
  const Arguments& arguments;
  const train::ResolvedJob& run;
  bool continued = false;  // the run goes on from a checkpoint
};

// One reason why options have no effect.
struct NoEffect {
  std::vector<std::string> options;
  std::string why;  // follows "--NAME has no effect": starts with ": ", or with where that is so
  bool (*holds)(const Circumstances&);
};

const std::vector<NoEffect>& no_effect_table();

// Returns one line for each such option: "--decay-rate has no effect: --schedule is not step".
// Options of other programs that mean nothing here come first. Leaves out values of recipes,
// checkpoints and the platform, and options that are off anyway.
std::vector<std::string> no_effect(const Circumstances& circumstances);

}  // namespace shoal::app
