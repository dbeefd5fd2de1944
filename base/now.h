#pragma once
// Measures elapsed time.

#include <chrono>

namespace shoal {

// Returns the time of a steady clock in seconds. Only differences have a meaning.
inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace shoal
