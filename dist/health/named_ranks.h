#pragma once
// Limits how many ranks a message names.

#include <cstddef>

namespace shoal::dist {

inline constexpr size_t kNamedRanks = 16;  // any further ranks are only counted

}  // namespace shoal::dist
