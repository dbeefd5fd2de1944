#pragma once
// Settings that follow from the name of the weights. Does no I/O and does not use LibTorch.

#include "app/options/options.h"

namespace shoal::app {

// First word of the origin of these settings; the value of --weights follows.
inline constexpr const char* kWeightsOrigin = "--weights ";

// Sets --model to the network of --weights, if shoal knows the weights by name or file name. For
// evaluation, also sets the preprocessing with which the accuracy of the weights was measured;
// given options take precedence. Throws UserError if the name is unknown or --model names another
// network.
void imply_settings(Arguments& arguments);

}  // namespace shoal::app
