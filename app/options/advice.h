#pragma once
// Warnings at the start of a training run about settings that often give poor results. Does not use
// LibTorch.

#include <string>
#include <vector>

#include "app/options/no_effect.h"

namespace shoal::app {

// Returns one sentence per problem: the images have a single class; EfficientNet with the default
// SGD, which often diverges in the first epoch; a run too short for the running statistics of batch
// norm. Returns none with --eval-only.
std::vector<std::string> advice(const Circumstances& circumstances);

}  // namespace shoal::app
