#pragma once
// The table of all networks. Does not use LibTorch.

#include <string>
#include <vector>

#include "models/network.h"

namespace shoal::models {

// Builds the network options.name. Throws std::invalid_argument for an unknown name (the message
// suggests a similar one), fewer than 1 class, and a dropout or drop_path outside 0..1.
Network make_network(const ModelOptions& options);
// Returns the names of all models, grouped by family.
const std::vector<std::string>& names();
// Describes the model that create() (model.h) would build, without allocating its tensors. Throws
// like make_network().
ModelInfo describe(const ModelOptions& options);

}  // namespace shoal::models
