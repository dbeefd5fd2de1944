#pragma once
// A made-up dataset: JPEGs of coloured shapes in noise, encoded once and kept in memory. For tests
// and speed runs.

#include <cstdint>
#include <memory>

#include "data/dataset.h"

namespace shoal::data {

struct SyntheticOptions {
  int64_t images = 256;
  int64_t classes = 10;
  // Images really made; the others repeat them (rounded up to a multiple of classes).
  int64_t distinct = 32;
  int64_t width = 500, height = 375;  // pixels
  uint64_t seed = 0;
};

// Deterministic. The label of sample i is i % classes and can be learnt: colour and place of the
// shape follow it.
std::shared_ptr<const Dataset> make_synthetic(const SyntheticOptions& options);

}  // namespace shoal::data
