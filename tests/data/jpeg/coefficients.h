#pragma once
// Reads the coefficients of a JPEG with libjpeg-turbo.

#include "tests/data/support.h"

namespace shoal::data {

// Returns the largest magnitude of all dequantized coefficients of a JPEG: for real images, at most
// slightly above 8192. Throws std::runtime_error if they cannot be read.
int largest_coefficient(const Bytes& file);

}  // namespace shoal::data
