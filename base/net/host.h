#pragma once

#include <string>

namespace shoal {

// Returns the name of this host, or "this host" if it has none.
std::string host_name();

// Returns whether `address` is an IPv4 address of the loopback interface (127.x.x.x), or ::1.
bool is_loopback(const std::string& address);

// Returns whether `host` names this host's loopback interface: "localhost", or is_loopback().
bool names_loopback(const std::string& host);

}  // namespace shoal
