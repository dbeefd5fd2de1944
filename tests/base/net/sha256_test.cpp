#include "base/net/sha256.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <vector>

#include "tests/support/temporary_directory.h"

using shoal::Sha256;

namespace {

std::string digest(const std::string& text) {
  Sha256 sum;
  sum.update(text.data(), text.size());
  return sum.hex();
}

}  // namespace

TEST_CASE("SHA-256 of the examples in FIPS 180-4") {
  CHECK(digest("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(digest("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(digest(std::string(1000000, 'a')) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("a SHA-256 does not depend on how the bytes are divided, and is the same for a file") {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += static_cast<char>(i * 37);
  for (const size_t piece : {size_t{1}, size_t{7}, size_t{63}, size_t{64}, size_t{65}}) {
    Sha256 sum;
    for (size_t at = 0; at < text.size(); at += piece)
      sum.update(text.data() + at, std::min(piece, text.size() - at));
    CHECK(sum.hex() == digest(text));
  }
  const shoal::test::TemporaryDirectory directory;
  const auto file = directory.path() / "file";
  std::ofstream(file, std::ios::binary) << text;
  CHECK(shoal::sha256_of(file) == digest(text));
  CHECK_THROWS_WITH(shoal::sha256_of(directory.path() / "none"), Catch::Contains("none"));
}
