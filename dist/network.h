#pragma once
// Facts about this host's network that the set-up of a group needs. No torch.

#include <cstdint>
#include <string>
#include <vector>

namespace shoal::dist {

struct Interface {
  std::string name;     // "eth0"
  std::string address;  // one numeric IPv4 or IPv6 address
  bool up = false;
  bool loopback = false;
};

// One entry per interface and address, in the system's order. Throws std::runtime_error when the
// system does not tell.
std::vector<Interface> interfaces();

bool interface_exists(const std::string& name);

// The local address from which this host reaches host:port (no packet is sent), or "" when there is
// no route or the name does not resolve.
std::string address_towards(const std::string& host, uint16_t port);

// A TCP port that was free a moment ago, on every address of this host. Throws std::runtime_error
// when there is none.
uint16_t free_port();

}  // namespace shoal::dist
