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

// Sets --model to `network`, the network of --weights. Removes the image sizes of a recipe that the
// user did not name, because they belong to that recipe's network.
void take_network(Arguments& arguments, const std::string& network);

}  // namespace shoal::app
