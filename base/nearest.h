#pragma once
// Suggests a name for one that does not exist.

#include <string>
#include <string_view>
#include <vector>

namespace shoal {

// Returns the known name that the user probably meant by `name`, or an empty text. Recognizes
// typing errors, a part of the known name, and the known name with a filler word (data-path).
std::string nearest(std::string_view name, const std::vector<std::string>& known);

}  // namespace shoal
