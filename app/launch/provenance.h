#pragma once
// Records how a run was started. Does not use LibTorch.

#include "app/options/options.h"
#include "dist/env/env.h"

namespace shoal::app {

// Returns version, commit, command line, facts about this host, and the settings as a file for
// --config. Secrets are masked.
train::Provenance provenance_of(const Arguments& arguments, const dist::Variables& environment);

}  // namespace shoal::app
