#pragma once
// Writes settings as a TOML file that --config reads. Does not use LibTorch.

#include <string>

#include "app/options/options.h"

namespace shoal::app {

// Returns all options of the command with value and origin, by group. Comments out defaults and the
// recipe's values, so that a command that reads the file treats them as not given. This matters for
// --resume, which restores only options that are not given. Also comments out values that contain a
// secret, which is masked, and values that are not UTF-8. The first lines contain version, command
// and host of `provenance`.
std::string config_text(const Arguments& arguments, const train::Provenance& provenance);

}  // namespace shoal::app
