#pragma once
// Writes settings as a TOML file that --config reads. Does not use LibTorch.

#include <string>

#include "app/options/options.h"

namespace shoal::app {

// Returns all options of the command with value and origin, by group. Defaults, and values that the
// recipe sets, are comments, so that reading the file gives the same settings with the same
// consequences: --resume, for example, restores only options that are not given. Settings that
// contain a secret are comments, too, with the secret masked. A comment at the beginning contains
// version, command and host of `provenance`.
std::string config_text(const Arguments& arguments, const train::Provenance& provenance);

}  // namespace shoal::app
