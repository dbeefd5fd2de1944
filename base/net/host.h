#pragma once

#include <string>

namespace shoal {

// Returns the name of this host, or "this host" if the system does not know its name.
std::string host_name();

}  // namespace shoal
