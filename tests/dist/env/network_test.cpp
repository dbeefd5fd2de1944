#include "dist/env/network.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>

using namespace shoal::dist;

TEST_CASE("the loopback interface is listed with its address") {
  const auto all = interfaces();
  const bool found = std::any_of(all.begin(), all.end(), [](const Interface& interface) {
    return interface.loopback && interface.up && interface.address == "127.0.0.1" &&
           interface_exists(interface.name);
  });
  CHECK(found);
  CHECK_FALSE(interface_exists("nosuch0"));
  CHECK_FALSE(interface_exists(""));
}

TEST_CASE("an interface is found by its name, else by the beginning of its name") {
  const std::vector<Interface> all = {{"lxdbr0", ""}, {"eth10", ""}, {"eth1", ""}, {"ib0", ""}};
  CHECK(matching_interface("eth1", all) == "eth1");
  CHECK(matching_interface("eth", all) == "eth10");
  CHECK(matching_interface("i", all) == "ib0");
  CHECK(matching_interface("ib01", all) == "");
  CHECK(matching_interface("lo", all) == "");
  CHECK(matching_interface("", all) == "");
}

TEST_CASE("NCCL_SOCKET_IFNAME chooses an interface other than loopback") {
  const auto chosen = [](const std::string& list) {
    return nccl_interface(list, {{"lo", "", true, true}, {"eth0", "", true}, {"ib0", "", true}});
  };
  for (const char* list : {"ib0", "zz,ib", "lo,ib0,eth0", "=ib0", "=ib,ib0", "=zz,,ib0"})
    CHECK(chosen(list) == "ib0");
  for (const char* list : {"", "lo", "l", "=lo", "=ib", "zz", "ib00", "^docker0", "^ib0"})
    CHECK(chosen(list) == "");
}

TEST_CASE("loopback is reached from the loopback address") {
  CHECK(loopback_address() == "127.0.0.1");
  CHECK(address_towards("127.0.0.1", 80) == "127.0.0.1");
  CHECK(address_towards("no such host", 80) == "");
}

TEST_CASE("a name that does not resolve is an error after a wait") {
  std::vector<std::string> messages;
  const Notify notify = [&](const std::string& text) { messages.push_back(text); };
  wait_for_address("127.0.0.1", std::chrono::seconds(1), notify);
  CHECK(messages.empty());
  CHECK_THROWS_WITH(
      wait_for_address("nosuch.invalid", std::chrono::milliseconds(300), notify),
      Catch::Contains("nosuch.invalid did not resolve") && Catch::Contains("--rendezvous-timeout"));
}

TEST_CASE("addresses of this host are distinguished from others") {
  CHECK(may_be_this_host("127.0.0.1"));
  CHECK(may_be_this_host("nosuch.invalid"));       // does not resolve
  CHECK_FALSE(may_be_this_host("203.0.113.254"));  // an address reserved for documentation
  const std::string outside = outside_address();
  CHECK_FALSE(outside.starts_with("127."));
  if (!outside.empty()) CHECK(may_be_this_host(outside));
}

TEST_CASE("a port accepts connections only while a program listens on it") {
  const uint16_t port = free_port();
  const auto accepts = [&] {
    return accepts_connections("127.0.0.1", port, std::chrono::seconds(1));
  };
  CHECK_FALSE(accepts());
  const int fd = bound_socket("127.0.0.1", port);
  REQUIRE(listen(fd, 4) == 0);
  CHECK(accepts());
  close(fd);
  CHECK_FALSE(accepts());
}

TEST_CASE("a free port can be listened on") {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(free_port());
  CHECK(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  CHECK(listen(fd, 1) == 0);
  close(fd);
}
