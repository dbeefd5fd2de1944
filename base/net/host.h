#pragma once

#include <string>

namespace shoal {

// Returns the name of this host, "this host" if the system does not know it.
std::string host_name();

}  // namespace shoal
