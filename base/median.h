#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace shoal {

// Returns the middle value; for an even number of values, the higher of the two in the middle.
// `values` must not be empty.
inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace shoal
