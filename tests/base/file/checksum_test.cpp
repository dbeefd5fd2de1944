#include "base/file/checksum.h"

#include <catch2/catch.hpp>
#include <string>

using namespace shoal;

TEST_CASE("a checksum does not depend on how the stream is split") {
  const std::string text = "what is written in pieces is the same as what is written at once";
  Checksum whole;
  whole.update(text.data(), text.size());
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    Checksum parts;
    parts.update(text.data(), cut);
    parts.update(text.data() + cut, text.size() - cut);
    REQUIRE(parts.value() == whole.value());
  }
  Checksum other;
  other.update(text.data(), text.size() - 1);
  REQUIRE(other.value() != whole.value());
}

TEST_CASE("checksums in markers of existing checkpoints stay valid") {
  const std::string text = "0123456789abcdef-";
  Checksum checksum;
  checksum.update(text.data(), text.size());
  CHECK(checksum.hex() == "c48f98a0c13a4ee1");
}
