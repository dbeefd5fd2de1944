#include "dist/env/network.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <random>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "base/file/descriptor.h"
#include "base/net/host.h"
#include "base/text.h"

namespace shoal::dist {

namespace {

std::string numeric(const sockaddr* address, socklen_t length) {
  char text[NI_MAXHOST];
  if (getnameinfo(address, length, text, sizeof text, nullptr, 0, NI_NUMERICHOST) != 0) return "";
  return text;
}

}  // namespace

std::vector<Interface> interfaces() {
  ifaddrs* raw = nullptr;
  if (getifaddrs(&raw) != 0)
    throw std::runtime_error(std::string("cannot list the network interfaces: ") +
                             std::strerror(errno));
  std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> list(raw, freeifaddrs);
  std::vector<Interface> result;
  for (const ifaddrs* entry = raw; entry; entry = entry->ifa_next) {
    if (!entry->ifa_addr) continue;
    const int family = entry->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    const socklen_t length = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    result.push_back({entry->ifa_name, numeric(entry->ifa_addr, length),
                      (entry->ifa_flags & IFF_UP) != 0, (entry->ifa_flags & IFF_LOOPBACK) != 0});
  }
  return result;
}

std::string matching_interface(const std::string& name, const std::vector<Interface>& all) {
  const auto found = [&](const auto& matches) {
    const auto one = std::ranges::find_if(all, matches);
    return one == all.end() ? "" : one->name;
  };
  if (name.empty()) return "";
  const std::string exact = found([&](const Interface& one) { return one.name == name; });
  return exact.empty() ? found([&](const Interface& one) { return one.name.starts_with(name); })
                       : exact;
}

std::string nccl_interface(const std::string& list, std::vector<Interface> all) {
  if (list.starts_with('^')) return "";
  std::erase_if(all, [](const Interface& one) { return one.loopback; });
  const bool exact = list.starts_with('=');
  for (const std::string& name : split(list.substr(exact ? 1 : 0), ',')) {
    const std::string found = matching_interface(name, all);
    if (!found.empty() && (!exact || found == name)) return found;
  }
  return "";
}

bool interface_exists(const std::string& name) {
  return !name.empty() && if_nametoindex(name.c_str()) != 0;
}

namespace {

using AddressList = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

// Returns null if the name does not resolve.
AddressList resolve(const std::string& host, const std::string& port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* raw = nullptr;
  if (getaddrinfo(host.c_str(), port.empty() ? nullptr : port.c_str(), &hints, &raw) != 0)
    raw = nullptr;
  return AddressList(raw, freeaddrinfo);
}

}  // namespace

bool has_address(const std::string& host) {
  return resolve(host, "") != nullptr;
}

bool may_be_this_host(const std::string& host) {
  const AddressList list = resolve(host, "");
  if (!list) return true;
  const auto own = interfaces();
  for (const addrinfo* entry = list.get(); entry; entry = entry->ai_next) {
    const std::string address = numeric(entry->ai_addr, entry->ai_addrlen);
    if (address.starts_with("127.")) return true;
    if (std::any_of(own.begin(), own.end(),
                    [&](const Interface& one) { return one.address == address; }))
      return true;
  }
  return false;
}

std::string outside_address() {
  for (const Interface& interface : interfaces()) {
    const auto called = [&](const char* start) { return interface.name.starts_with(start); };
    const bool bridge = called("docker") || called("br-") || called("virbr") || called("veth");
    const bool link_local =
        interface.address.starts_with("fe80") || interface.address.starts_with("169.254.");
    if (interface.up && !interface.loopback && !bridge && !link_local) return interface.address;
  }
  return "";
}

bool Reminder::due() {
  if (Clock::now() < next_) return false;
  next_ = Clock::now() + std::chrono::seconds(30);
  return true;
}

int64_t Reminder::seconds() const {
  return std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - start_).count();
}

void wait_for_address(const std::string& host, std::chrono::milliseconds timeout,
                      const Notify& notify) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + timeout;
  Reminder reminder;
  while (!has_address(host)) {
    const auto left = end - Clock::now();
    if (left <= Clock::duration::zero())
      throw std::runtime_error("host " + host + " did not resolve within " +
                               std::to_string(reminder.seconds()) +
                               " s; check the name and that the host has started, or raise "
                               "--rendezvous-timeout SECONDS");
    if (reminder.due())
      notify("waiting for " + host + " to resolve (" + std::to_string(reminder.seconds()) +
             " s so far)");
    std::this_thread::sleep_for(std::min<Clock::duration>(left, std::chrono::milliseconds(200)));
  }
}

std::string address_towards(const std::string& host, uint16_t port) {
  const AddressList list = resolve(host, std::to_string(port));
  for (const addrinfo* target = list.get(); target; target = target->ai_next) {
    const Descriptor route(socket(target->ai_family, SOCK_DGRAM, 0));
    // Connecting a datagram socket only looks up the route; it sends no packet.
    if (connect(route.number(), target->ai_addr, target->ai_addrlen) != 0) continue;
    sockaddr_storage local{};
    socklen_t length = sizeof local;
    if (getsockname(route.number(), reinterpret_cast<sockaddr*>(&local), &length) == 0)
      return numeric(reinterpret_cast<sockaddr*>(&local), length);
  }
  return "";
}

bool accepts_connections(const std::string& host, uint16_t port,
                         std::chrono::milliseconds timeout) {
  const AddressList list = resolve(host, std::to_string(port));
  for (const addrinfo* target = list.get(); target; target = target->ai_next) {
    const Descriptor probe(
        socket(target->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (connect(probe.number(), target->ai_addr, target->ai_addrlen) == 0) return true;
    if (errno != EINPROGRESS) continue;
    pollfd ready{probe.number(), POLLOUT, 0};
    int error = 0;
    socklen_t length = sizeof error;
    if (poll(&ready, 1, static_cast<int>(timeout.count())) == 1 &&
        getsockopt(probe.number(), SOL_SOCKET, SO_ERROR, &error, &length) == 0 && error == 0)
      return true;
  }
  return false;
}

namespace {

bool on_one_host(const Env& env) {
  return env.local_world_size >= env.world_size;
}

}  // namespace

std::string loopback_address() {
  for (const char* address : {"127.0.0.1", "::1"})
    if (address_towards(address, 1) == address) return address;
  throw std::runtime_error(
      "the loopback interface, over which the processes of this host connect, is not up; enable "
      "it: ip link set lo up");
}

std::string own_address(const Env& env) {
  if (on_one_host(env)) return loopback_address();
  std::string address = address_towards(env.master_addr, env.master_port);
  // On the master's host, /etc/hosts often maps the host's own name to a loopback address, which
  // other hosts cannot reach. Keeps the address if MASTER_ADDR itself is a loopback address.
  if (is_loopback(address) && !names_loopback(env.master_addr))
    if (const std::string outside = outside_address(); !outside.empty()) address = outside;
  if (address.empty())
    throw std::runtime_error("rank " + std::to_string(env.rank) +
                             ": no network route to the master " + env.master_addr +
                             "; check MASTER_ADDR, or name the interface with GLOO_SOCKET_IFNAME");
  return address;
}

std::string store_host(const Env& env) {
  // Compares the master's address, not ranks, because launchers may distribute ranks over the hosts
  // in any order.
  const bool here =
      on_one_host(env) || (has_address(env.master_addr) && may_be_this_host(env.master_addr));
  return here && !env.agent_store ? own_address(env) : env.master_addr;
}

int bound_socket(const std::string& address, uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_PASSIVE;
  addrinfo* raw = nullptr;
  if (getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &raw) != 0)
    throw std::system_error(EINVAL, std::generic_category(), "listening at " + address);
  const AddressList list(raw, freeaddrinfo);
  Descriptor bound(socket(raw->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  if (!bound.is_open() ||
      setsockopt(bound.number(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      bind(bound.number(), raw->ai_addr, raw->ai_addrlen) != 0)
    throw std::system_error(errno, std::generic_category(), "listening at " + address);
  return bound.release();
}

uint16_t free_port() {
  // Tries random ports, so that programs started together rarely collide.
  constexpr int kTries = 200;
  std::random_device random;
  for (int i = 0; i < kTries; ++i) {
    const Descriptor candidate(socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_ANY);
    address.sin_port = htons(static_cast<uint16_t>(kFirstPort + random() % kPortCount));
    if (bind(candidate.number(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0)
      return ntohs(address.sin_port);
  }
  throw std::runtime_error(std::string("cannot find a free TCP port: ") + std::strerror(errno));
}

}  // namespace shoal::dist
