#pragma once

#include <string>

namespace shoal {

// Returns the name of this host, or "this host" if it has none.
std::string host_name();

// Returns whether `address` is an IPv4 address of the loopback interface (127.x.x.x), or ::1.
bool is_loopback(const std::string& address);

}  // namespace shoal
