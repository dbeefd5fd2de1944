#include "base/file/crc32c.h"

#include <catch2/catch.hpp>
#include <vector>

using namespace shoal;

TEST_CASE("CRC-32C has the standard's values, also in two parts") {
  using Bytes = std::vector<uint8_t>;
  CHECK(crc32c(0, "123456789", 9) == 0xe3069283);
  // RFC 3720, appendix B.4.
  CHECK(crc32c(0, Bytes(32, 0).data(), 32) == 0x8a9136aa);
  CHECK(crc32c(0, Bytes(32, 0xff).data(), 32) == 0x62a8ab43);
  CHECK(crc32c(0, nullptr, 0) == 0);
  Bytes bytes(5000);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * i >> 3);
  for (size_t count = 0; count <= bytes.size(); count = 2 * count + 1) {
    const size_t half = count / 2;
    CHECK(crc32c(crc32c(7, bytes.data(), half), bytes.data() + half, count - half) ==
          crc32c(7, bytes.data(), count));
  }
}
