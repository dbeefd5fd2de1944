#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace shoal::data {

// Makes the vector at least `count` elements long. Never shortens it, so reused buffers keep their
// memory.
template <class T>
void grow(std::vector<T>& memory, int64_t count) {
  if (memory.size() < static_cast<size_t>(count)) memory.resize(static_cast<size_t>(count));
}

}  // namespace shoal::data
