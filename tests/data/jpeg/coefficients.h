#pragma once
// Coefficients as libjpeg-turbo reads them.

#include "tests/data/support.h"

namespace shoal::data {

// The largest magnitude of all dequantized coefficients of a JPEG; slightly above 8192 at most for
// real images. Throws std::runtime_error if they cannot be read.
int largest_coefficient(const Bytes& file);

}  // namespace shoal::data
