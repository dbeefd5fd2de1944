#include "dist/transport_error.h"

#include <c10/util/Exception.h>

#include <catch2/catch.hpp>
#include <stdexcept>

using shoal::dist::transport_message;

TEST_CASE("an error of a transport is one line without source position, keys and backtrace") {
  CHECK(transport_message(std::runtime_error(
            "[/gloo/pair.cc:534] Connection closed by peer [127.0.0.1]:4000\nsecond line")) ==
        "Connection closed by peer [127.0.0.1]:4000");
  CHECK(transport_message(std::runtime_error("wait timeout after 1000ms, keys: /a, /b")) ==
        "wait timeout after 1000ms");
  CHECK(transport_message(std::runtime_error("")).empty());
  try {
    TORCH_CHECK(false, "the store is gone.");
  } catch (const std::exception& error) {
    CHECK(transport_message(error) == "the store is gone");
  }
}
