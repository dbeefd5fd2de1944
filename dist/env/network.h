#pragma once
// Network interfaces, addresses and ports of this host. Does not use LibTorch.

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "dist/env/env.h"

namespace shoal::dist {

struct Interface {
  std::string name;     // "eth0"
  std::string address;  // one numeric IPv4 or IPv6 address
  bool up = false;
  bool loopback = false;
};

// Returns one entry per interface and address, in the system's order. Throws std::runtime_error if
// the system call fails.
std::vector<Interface> interfaces();

// Returns `name` if an interface has exactly this name, else the first interface name that starts
// with it. Empty if there is none, or if `name` is empty.
std::string matching_interface(const std::string& name, const std::vector<Interface>& all);

// Returns the interface that `list`, a value of NCCL_SOCKET_IFNAME, selects. `list` contains
// prefixes of names, separated by commas, or exact names if it begins with "=". Tries them in order
// and returns the first match in `all`, without loopback interfaces. Returns an empty text if none
// matches, or if `list` begins with "^", which excludes interfaces.
std::string nccl_interface(const std::string& list, std::vector<Interface> all = interfaces());

bool interface_exists(const std::string& name);

// Returns the local address from which this host reaches host:port, without sending a packet. Empty
// if there is no route or the name does not resolve.
std::string address_towards(const std::string& host, uint16_t port);

// Whether the name or numeric address resolves now.
bool has_address(const std::string& host);

// Whether `host` does not resolve, or resolves to an address of this host (127.x included).
bool may_be_this_host(const std::string& host);

// Returns the first numeric address at which other hosts may reach this one. Skips link-local
// addresses, and all addresses of interfaces that are down, loopback or container bridges. Empty if
// no address is left.
std::string outside_address();

// Whether a program accepts TCP connections at host:port. Waits up to `timeout` per address.
bool accepts_connections(const std::string& host, uint16_t port, std::chrono::milliseconds timeout);

// Receives messages, such as those about a long wait.
using Notify = std::function<void(const std::string& sentence)>;

// Waits until `host` resolves, because other hosts may get their names minutes after this process
// starts. `notify` receives "waiting for HOST to resolve (N s so far)". After `timeout`, throws
// std::runtime_error that names the host.
void wait_for_address(const std::string& host, std::chrono::milliseconds timeout,
                      const Notify& notify);

// Decides when a long wait should report: after 5 s, then every 30 s.
class Reminder {
 public:
  using Clock = std::chrono::steady_clock;
  bool due();
  int64_t seconds() const;  // whole seconds since construction
  Clock::time_point next() const { return next_; }

 private:
  Clock::time_point start_ = Clock::now(), next_ = start_ + std::chrono::seconds(5);
};

// Returns the address over which processes of this host connect: 127.0.0.1, or ::1 on a host
// without IPv4. Throws std::runtime_error if no loopback interface is up.
std::string loopback_address();

// Returns the numeric address at which the other ranks of `env` reach this host: loopback if all
// ranks are on this host, otherwise the address from which this host reaches the master. If that
// address is loopback but MASTER_ADDR does not name loopback, returns outside_address() instead,
// unless it is empty. Ignores Env::interface. Throws std::runtime_error if there is no route to the
// master, or if all ranks are on this host and loopback is not up.
std::string own_address(const Env& env);

// Returns the name or address at which this process connects to the store. If rank 0 serves the
// store and runs on this host, that is own_address(), because rank 0 listens only there. Otherwise
// it is env.master_addr.
std::string store_host(const Env& env);

// Returns a TCP socket that is bound to `port` at this numeric address only. The caller owns the
// socket. Throws std::system_error.
int bound_socket(const std::string& address, uint16_t port);

// Range from which shoal chooses ports. It is below Linux's ephemeral range, where an outgoing
// connection could take a chosen port before shoal listens on it.
inline constexpr uint16_t kFirstPort = 20000, kPortCount = 12000;

// Returns a port in [kFirstPort, kFirstPort + kPortCount) that is currently free on all IPv4
// addresses of this host. Throws std::runtime_error if it finds none.
uint16_t free_port();

}  // namespace shoal::dist
