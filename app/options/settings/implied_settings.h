#pragma once
// Settings that follow from the name of the weights. Does no I/O and does not use LibTorch.

#include "app/options/options.h"

namespace shoal::app {

// Sets --model to the network of --weights, if they are known by name or by the name of their file.
// For evaluation, also sets the preprocessing with which their accuracy was measured. Given options
// take precedence. Throws UserError for an unknown name and if --model is another network.
void imply_settings(Arguments& arguments);

}  // namespace shoal::app
