#include "base/net/base64.h"

#include <catch2/catch.hpp>

namespace {

std::string encoded(std::string_view text) {
  return shoal::base64({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
}

}  // namespace

TEST_CASE("base64 gives the examples of RFC 4648") {
  REQUIRE(encoded("").empty());
  REQUIRE(encoded("f") == "Zg==");
  REQUIRE(encoded("fo") == "Zm8=");
  REQUIRE(encoded("foo") == "Zm9v");
  REQUIRE(encoded("foob") == "Zm9vYg==");
  REQUIRE(encoded("fooba") == "Zm9vYmE=");
  REQUIRE(encoded("foobar") == "Zm9vYmFy");
  REQUIRE(encoded("\xff\xfb\xf0") == "//vw");
}
