#pragma once
// Formats numbers for people.

#include <cstdint>
#include <string>

#include "base/text.h"

namespace shoal {

// Returns `value` with commas between groups of three digits: "5,288,548".
inline std::string grouped(int64_t value) {
  std::string text = std::to_string(value);
  const int64_t first = value < 0 ? 1 : 0;
  for (auto at = static_cast<int64_t>(text.size()) - 3; at > first; at -= 3)
    text.insert(static_cast<size_t>(at), ",");
  return text;
}

// Converts bytes to megabytes (10^6 bytes). Print the result with "%.1f MB".
inline double megabytes(int64_t bytes) {
  return static_cast<double>(bytes) / 1e6;
}

// Converts bytes to gigabytes (10^9 bytes).
inline double gigabytes(int64_t bytes) {
  return static_cast<double>(bytes) / 1e9;
}

// Formats bytes as gigabytes: "1.24 GB".
inline std::string gigabytes_text(int64_t bytes) {
  return strf("%.2f GB", gigabytes(bytes));
}

}  // namespace shoal
