#pragma once
// The measurements of `shoal bench`.

#include "app/options/options.h"

namespace shoal::app {

// Each runs a measurement, prints its results and returns an exit code. Throws UserError for bad
// options.
int bench_loader(const Arguments& arguments);
int bench_step(const Arguments& arguments);
int bench_scaling(const Arguments& arguments);

}  // namespace shoal::app
