#pragma once
// Formats a count with its noun.

#include <cstdint>
#include <string>
#include <string_view>

namespace shoal {

// Returns "1 class", "3 classes", "0 files". `noun` is singular. Its plural adds "s", or "es" if
// it ends in s.
std::string counted(int64_t count, std::string_view noun);

}  // namespace shoal
