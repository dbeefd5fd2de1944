#pragma once
// Writes settings as a TOML file that --config reads. Does not use LibTorch.

#include <string>

#include "app/options/options.h"

namespace shoal::app {

// Returns all options of the command with value and origin, by group. Defaults and the recipe's
// values are commented out, so that a command that reads the file treats them as not given:
// --resume, for example, restores only such options. Values with a secret, which is masked, and
// values that are not UTF-8 are commented out too. The first lines contain version, command and
// host of `provenance`.
std::string config_text(const Arguments& arguments, const train::Provenance& provenance);

}  // namespace shoal::app
