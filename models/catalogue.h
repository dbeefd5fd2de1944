#pragma once
// The networks by name. Torch-free.

#include <string>
#include <vector>

#include "models/network.h"

namespace shoal::models {

// Returns the network. Throws std::invalid_argument for bad options; for an unknown name, the
// message suggests the nearest one.
Network make_network(const ModelOptions& options);
// Returns the names of all models, grouped by family.
const std::vector<std::string>& names();
// Describes the model that create() would build, without allocating it. Multiply-adds are for the
// model's eval_size. Throws std::invalid_argument like make_network().
ModelInfo describe(const ModelOptions& options);

}  // namespace shoal::models
