#pragma once
// Histograms of the values of tensors. Does not use LibTorch.

#include <span>
#include <string>

#include "train/report/report.h"

namespace shoal::train {

// Values that are not finite are left out.
Histogram make_histogram(std::string tag, std::span<const float> values);

}  // namespace shoal::train
