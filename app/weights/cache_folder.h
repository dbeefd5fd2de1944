#pragma once
// The default folder for downloaded weights. Does no I/O and does not use LibTorch.

#include <string>

#include "dist/env/env.h"

namespace shoal::app {

// Returns the folder of downloaded weights. The first variable that is set decides: SHOAL_CACHE
// (…/weights), SageMaker's warm pool folder (…/shoal/weights), XDG_CACHE_HOME (…/shoal/weights),
// HOME (…/.cache/shoal/weights). Empty if none is set.
std::string weights_cache_folder(const dist::Variables& environment);

}  // namespace shoal::app
