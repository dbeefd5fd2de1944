#pragma once
// Formats a count with its noun.

#include <cstdint>
#include <string>
#include <string_view>

namespace shoal {

// Returns a text such as "1 class", "3 classes" or "0 files". `noun`: the singular. Forms the
// plural with "s", or with "es" if `noun` ends in s.
std::string counted(int64_t count, std::string_view noun);

}  // namespace shoal
