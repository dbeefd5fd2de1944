#pragma once
// A synthetic dataset: JPEGs of colored discs with noise, encoded once and kept in memory. For
// tests and benchmarks.

#include <cstdint>
#include <memory>

#include "data/dataset.h"

namespace shoal::data {

struct SyntheticOptions {
  int64_t images = 256;
  int64_t classes = 10;
  // Number of different images, rounded up to a multiple of `classes`. The dataset repeats them.
  int64_t distinct = 32;
  int64_t width = 500, height = 375;  // pixels
  uint64_t seed = 0;
};

// Deterministic. The label of sample i is i % classes. A model can learn the labels: the label
// determines the color and the position of the disc. Throws std::invalid_argument for invalid
// options.
std::shared_ptr<const Dataset> make_synthetic(const SyntheticOptions& options);

}  // namespace shoal::data
