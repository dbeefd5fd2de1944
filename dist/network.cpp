#include "dist/network.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <random>
#include <stdexcept>

namespace shoal::dist {

namespace {

struct Socket {
  explicit Socket(int fd) : fd(fd) {}
  ~Socket() {
    if (fd >= 0) close(fd);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int fd;
};

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

bool interface_exists(const std::string& name) {
  return !name.empty() && if_nametoindex(name.c_str()) != 0;
}

std::string address_towards(const std::string& host, uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* raw = nullptr;
  if (getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &raw) != 0) return "";
  std::unique_ptr<addrinfo, void (*)(addrinfo*)> list(raw, freeaddrinfo);
  for (const addrinfo* target = raw; target; target = target->ai_next) {
    Socket socket_(socket(target->ai_family, SOCK_DGRAM, 0));
    // Connecting a datagram socket only asks the routing table.
    if (socket_.fd < 0 || connect(socket_.fd, target->ai_addr, target->ai_addrlen) != 0) continue;
    sockaddr_storage local{};
    socklen_t length = sizeof local;
    if (getsockname(socket_.fd, reinterpret_cast<sockaddr*>(&local), &length) == 0)
      return numeric(reinterpret_cast<sockaddr*>(&local), length);
  }
  return "";
}

uint16_t free_port() {
  // Below the ports that Linux gives to outgoing connections, any of which could take a port from
  // there before it is used; at random, so that programs started together do not meet.
  constexpr int kFirst = 20000, kCount = 12000, kTries = 200;
  std::random_device random;
  for (int i = 0; i < kTries; ++i) {
    const Socket socket_(socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_ANY);
    address.sin_port = htons(static_cast<uint16_t>(kFirst + random() % kCount));
    if (bind(socket_.fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0)
      return ntohs(address.sin_port);
  }
  throw std::runtime_error(std::string("cannot find a free TCP port: ") + std::strerror(errno));
}

}  // namespace shoal::dist
