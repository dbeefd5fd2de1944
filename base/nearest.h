#pragma once
// Suggests a known name for a misspelled one.

#include <string>
#include <string_view>
#include <vector>

namespace shoal {

// Returns the known name that the user probably meant by `name`; empty if none is similar. `name`
// may have typing errors, be a part of a known name (decay for weight-decay), or be a known name
// with filler words (data-path for data).
std::string nearest(std::string_view name, const std::vector<std::string>& known);

}  // namespace shoal
