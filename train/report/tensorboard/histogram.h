#pragma once
// Computes histograms of tensors. Does not use LibTorch.

#include <span>
#include <string>

#include "train/report/report.h"

namespace shoal::train {

// Returns the histogram of the finite elements of `values`.
Histogram make_histogram(std::string tag, std::span<const float> values);

}  // namespace shoal::train
