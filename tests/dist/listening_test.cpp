// Checks the addresses on which a run listens, and that connections of other programs do not
// disturb the run.
#include <ATen/ops/full.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <sstream>

#include "dist/connect.h"
#include "dist/env/network.h"
#include "tests/support/spawn_ranks.h"

using namespace shoal;

namespace {

struct Listener {
  bool v6 = false;
  in_addr_t address = 0;  // IPv4 address in network byte order; 0 for IPv6
  uint16_t port = 0;
};

// Returns the listening TCP sockets of this process.
std::vector<Listener> listeners() {
  std::set<std::string> own;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;  // ignored: another thread may close the descriptor
    own.insert(std::filesystem::read_symlink(entry.path(), gone).string());
  }
  std::vector<Listener> found;
  for (const bool v6 : {false, true}) {
    std::ifstream table(v6 ? "/proc/self/net/tcp6" : "/proc/self/net/tcp");
    std::string line;
    std::getline(table, line);
    while (std::getline(table, line)) {
      std::istringstream fields(line);
      std::string slot, local, remote, state, queue, timer, retransmits, uid, timeout, inode;
      fields >> slot >> local >> remote >> state >> queue >> timer >> retransmits >> uid >>
          timeout >> inode;
      if (state != "0A" || !own.contains("socket:[" + inode + "]")) continue;
      const size_t colon = local.find(':');
      found.push_back({v6,
                       v6 ? 0 : static_cast<in_addr_t>(std::stoul(local.substr(0, 8), nullptr, 16)),
                       static_cast<uint16_t>(std::stoul(local.substr(colon + 1), nullptr, 16))});
    }
  }
  return found;
}

// Connects to the port on this host `connections` times and sends up to `bytes` random bytes in
// total. Closes half of the connections at once, the others at the end.
void disturb(uint16_t port, int connections, size_t bytes) {
  std::mt19937 random(port);
  std::vector<int> open;
  for (int i = 0; i < connections; ++i) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    std::string noise(bytes / static_cast<size_t>(connections), '\0');
    for (char& c : noise) c = static_cast<char>(random());
    ::send(fd, noise.data(), noise.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (i % 2 == 0)
      ::close(fd);
    else
      open.push_back(fd);
  }
  for (const int fd : open) ::close(fd);
}

}  // namespace

TEST_CASE("processes on one host listen on loopback only") {
  test::run_ranks(2, "loopback", [](dist::Env env) {
    dist::Communicator world = dist::connect(env);
    const auto found = listeners();
    REQUIRE(found.size() >= (env.rank == 0 ? 2u : 1u));  // Gloo listens; on rank 0, the store too
    for (const Listener& one : found) {
      REQUIRE_FALSE(one.v6);
      REQUIRE(one.address == htonl(INADDR_LOOPBACK));
    }
    world.control.barrier("seen");
    world.shutdown();
  });
}

TEST_CASE("rank 0 of several hosts listens on the address of the master, not on every interface") {
  auto env = dist::for_local_worker(2, 0, dist::free_port());
  env.local_world_size = 1;
  env.master_addr = "127.0.0.1";
  CHECK(dist::own_address(env) == "127.0.0.1");
  CHECK(dist::store_host(env) == "127.0.0.1");
  env.master_addr = dist::outside_address();
  if (!env.master_addr.empty()) {
    CHECK(dist::own_address(env) == env.master_addr);
    CHECK(dist::store_host(env) == env.master_addr);
  }
  env.master_addr = "::1";
  if (dist::has_address("::1") && dist::may_be_this_host("::1"))
    CHECK(dist::own_address(env) == "::1");
  env.master_addr = "203.0.113.254";  // another host
  CHECK(dist::store_host(env) == "203.0.113.254");
  const uint16_t port = dist::free_port();
  const int fd = dist::bound_socket("127.0.0.1", port);
  sockaddr_in address{};
  socklen_t length = sizeof address;
  REQUIRE(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) == 0);
  CHECK(address.sin_addr.s_addr == htonl(INADDR_LOOPBACK));
  CHECK(ntohs(address.sin_port) == port);
  REQUIRE(::listen(fd, 1) == 0);
  CHECK_THROWS_AS(dist::bound_socket("127.0.0.1", port), std::system_error);
  CHECK_THROWS_AS(dist::bound_socket("203.0.113.254", 0), std::system_error);
  ::close(fd);
}

TEST_CASE("random bytes sent to every port do not disturb the run and print no stack trace") {
  const auto results = test::run_ranks_and_report(2, "noise", [](dist::Env env) {
    dist::Communicator world = dist::connect(env);
    for (const Listener& one : listeners()) disturb(one.port, 1000, 1 << 20);
    for (int i = 1; i <= 20; ++i) {
      at::Tensor sum = at::full({1000}, env.rank + i);
      world.main.all_reduce_sum(sum);
      REQUIRE(sum.eq(2 * i + 1).all().item<bool>());
    }
    world.control.barrier("done");
    world.shutdown();
  });
  for (const auto& result : results) {
    INFO(result.output);
    CHECK(result.exit_code == 0);
    CHECK(result.output.find("frame #") == std::string::npos);
    CHECK(result.output.find("Exception") == std::string::npos);
  }
}
