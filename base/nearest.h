#pragma once
// Suggests a known name for a misspelled one.

#include <string>
#include <string_view>
#include <vector>

namespace shoal {

// Returns the known name that the user probably meant by `name`; empty if none is similar. Accepts
// typing errors, a part of a known name (decay for weight-decay), and a known name with an added
// filler word (data-path for data).
std::string nearest(std::string_view name, const std::vector<std::string>& known);

}  // namespace shoal
