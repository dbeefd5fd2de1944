#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace shoal::data {

// Makes the vector at least `count` elements long. Never shortens it, so that a buffer that is used
// again keeps its memory.
template <class T>
void reserve(std::vector<T>& memory, int64_t count) {
  if (memory.size() < static_cast<size_t>(count)) memory.resize(static_cast<size_t>(count));
}

}  // namespace shoal::data
