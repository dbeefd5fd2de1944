#pragma once
// The default folder for downloaded weights. Pure. Torch-free.

#include <string>

#include "dist/env/env.h"

namespace shoal::app {

// Returns weights/ in SHOAL_CACHE, in shoal/ of SageMaker's warm pool folder or of XDG_CACHE_HOME,
// or in ~/.cache/shoal, whichever variable is set first. Empty if none is, not even HOME.
std::string weights_cache_folder(const dist::Variables& environment);

}  // namespace shoal::app
