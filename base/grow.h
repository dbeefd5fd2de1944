#pragma once

#include <concepts>
#include <cstddef>
#include <vector>

namespace shoal {

// Makes the vector at least `count` elements long. Never shortens it, so reused buffers keep their
// memory.
template <class T>
void grow(std::vector<T>& memory, std::integral auto count) {
  if (memory.size() < static_cast<size_t>(count)) memory.resize(static_cast<size_t>(count));
}

}  // namespace shoal
