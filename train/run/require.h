#pragma once
// For validate() of option structs.

#include <stdexcept>

namespace shoal::train {

// Throws std::invalid_argument with the sentence unless `ok`.
inline void require_valid(bool ok, const char* sentence) {
  if (!ok) throw std::invalid_argument(sentence);
}

}  // namespace shoal::train
