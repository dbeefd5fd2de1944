#include "base/net/host.h"

#include <arpa/inet.h>
#include <unistd.h>

namespace shoal {

std::string host_name() {
  char name[256] = "";
  return ::gethostname(name, sizeof name - 1) == 0 && *name ? name : "this host";
}

bool is_loopback(const std::string& address) {
  in_addr binary{};
  if (::inet_pton(AF_INET, address.c_str(), &binary) == 1) return ntohl(binary.s_addr) >> 24 == 127;
  return address == "::1";
}

bool names_loopback(const std::string& host) {
  return host == "localhost" || is_loopback(host);
}

}  // namespace shoal
