#pragma once
// A number with its noun.

#include <cstdint>
#include <string>
#include <string_view>

namespace shoal {

// Returns "1 class", "3 classes", "0 files". `noun`: in the singular. Its plural ends in s or,
// after an s, in es.
std::string counted(int64_t count, std::string_view noun);

}  // namespace shoal
