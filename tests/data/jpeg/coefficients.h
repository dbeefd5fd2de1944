#pragma once
// Coefficients as libjpeg-turbo reads them.

#include "tests/data/support.h"

namespace shoal::data {

// The largest magnitude of all of a JPEG, dequantised. Images have at most 8192 and a little.
// Throws std::runtime_error where they cannot be read.
int largest_coefficient(const Bytes& file);

}  // namespace shoal::data
