#pragma once

#include <string>

namespace shoal {

// Returns the name of this host, or "this host" if it has none.
std::string host_name();

}  // namespace shoal
