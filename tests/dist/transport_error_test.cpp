#include "dist/transport_error.h"

#include <c10/util/Exception.h>

#include <catch2/catch.hpp>
#include <stdexcept>

using shoal::dist::message_beyond_timeout;
using shoal::dist::transport_message;

TEST_CASE("an error of a transport is one line without source position, keys and backtrace") {
  CHECK(transport_message(std::runtime_error(
            "[/gloo/pair.cc:534] Connection closed by peer [127.0.0.1]:4000\nsecond line")) ==
        "Connection closed by peer [127.0.0.1]:4000");
  CHECK(transport_message(std::runtime_error("wait timeout after 1000ms, keys: /a, /b")) ==
        "wait timeout after 1000ms");
  CHECK(transport_message(std::runtime_error("")).empty());
  CHECK(transport_message(std::runtime_error(
            "NCCL error in: /pytorch/NCCLUtils.cpp:1, invalid usage\nncclInvalidUsage: usually …\n"
            "Last error:\nDuplicate GPU detected\n")) ==
        "NCCL error in: /pytorch/NCCLUtils.cpp:1, invalid usage: Duplicate GPU detected");
  try {
    TORCH_CHECK(false, "the store is gone.");
  } catch (const std::exception& error) {
    CHECK(transport_message(error) == "the store is gone");
  }
}

TEST_CASE("an error that only says that a wait timed out has no message beyond it") {
  const auto beyond = [](const char* text) {
    return message_beyond_timeout(std::runtime_error(text));
  };
  CHECK(beyond("wait timeout after 2994ms, keys: /a").empty());
  CHECK(beyond("Socket Timeout").empty());
  CHECK(beyond("The client socket has timed out after 1ms while trying to connect to (a, 1).")
            .empty());
  CHECK(beyond("TCP client failed to connect/validate to host a:1 - timed out (try=1, "
               "timeout=3000ms): The client socket has timed out after 3000ms")
            .empty());
  CHECK(beyond("TCP client failed to connect/validate to host a:1 - timed out (try=2, "
               "timeout=3000ms): Connection reset by peer") == "Connection reset by peer");
  CHECK(beyond("Connection closed by peer") == "Connection closed by peer");
}
