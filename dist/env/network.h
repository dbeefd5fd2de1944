#pragma once
// Facts about this host's network that the set-up of a group needs. No torch.

#include <chrono>
#include <cstdint>
#include <functional>
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

// Whether the name or numeric address resolves now.
bool has_address(const std::string& host);

// True unless `host` resolves, and to addresses of other hosts only.
bool may_be_this_host(const std::string& host);

// A numeric address under which other hosts may see this one: of the first interface that is up,
// no loopback and no bridge of containers. "" when there is none.
std::string outside_address();

// What a wait says: first after a few seconds, then now and again.
using Tell = std::function<void(const std::string& sentence)>;

// Returns when `host` resolves: names of peers may come up minutes after the process. `tell` gets
// "waiting for HOST to have an address (N s so far)". Throws std::runtime_error naming the host
// when it does not within `timeout`.
void wait_for_address(const std::string& host, std::chrono::milliseconds timeout, const Tell& tell);

// When a long wait should speak: after 5 s, then every 30 s.
class Reminder {
 public:
  using Clock = std::chrono::steady_clock;
  bool due();
  int64_t seconds() const;  // since the construction

 private:
  Clock::time_point start_ = Clock::now(), next_ = start_ + std::chrono::seconds(5);
};

// A TCP port that was free a moment ago, on every address of this host. Throws std::runtime_error
// when there is none.
uint16_t free_port();

}  // namespace shoal::dist
