#pragma once
// Reports made from tensors: images, histograms, and the groups of parameters by learning rate.

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "base/normalization.h"
#include "train/report/report.h"
#include "train/step/flat_parameters.h"

namespace shoal::train {

// Returns the first images (16 at most) of a prepared batch, N×C×H×W, and undoes the normalization.
ImageGrid first_images(const at::Tensor& images, const Normalization& normalization,
                       const std::string& tag, int64_t step);

// Returns the histograms of each parameter ("weights/NAME") and of its gradient ("gradients/NAME").
std::vector<Histogram> histograms_of(const FlatParameters& parameters);

// Returns the groups of consecutive parameters with the same learning rate.
std::vector<RateGroup> rate_groups(const FlatParameters& parameters);

}  // namespace shoal::train
