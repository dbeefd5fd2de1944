#include "base/net/sha256.h"

#include <catch2/catch.hpp>
#include <fstream>

#include "tests/support/temporary_directory.h"

TEST_CASE("SHA-256 of files: the examples in FIPS 180-4, and one longer than a read") {
  const shoal::test::TemporaryDirectory directory;
  const auto digest = [&](const std::string& text) {
    const auto file = directory.path() / "file";
    std::ofstream(file, std::ios::binary) << text;
    return shoal::sha256_of(file);
  };
  CHECK(digest("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(digest("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(digest(std::string(1000000, 'a')) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  CHECK_THROWS_WITH(shoal::sha256_of(directory.path() / "none"), Catch::Contains("none"));
}

TEST_CASE("SHA-256 of bytes in memory: the example in FIPS 180-4") {
  CHECK(shoal::sha256_of_bytes("abc") ==
        shoal::Sha256{0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea, 0x41, 0x41, 0x40,
                      0xde, 0x5d, 0xae, 0x22, 0x23, 0xb0, 0x03, 0x61, 0xa3, 0x96, 0x17,
                      0x7a, 0x9c, 0xb4, 0x10, 0xff, 0x61, 0xf2, 0x00, 0x15, 0xad});
}
