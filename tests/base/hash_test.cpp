#include "base/hash.h"

#include <catch2/catch.hpp>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "base/file/checksum.h"

using namespace shoal;

TEST_CASE("hashes never change: stored files and the order of samples depend on them") {
  CHECK(mix_bits(1) == 0x5692161d100b05e5ULL);
  CHECK(combine(1, 2) == 0xf2826f98653e9e57ULL);
  CHECK(hash_bytes("") == 0x3ad56a6b8b1078f5ULL);
  std::vector<unsigned char> bytes(75);
  std::iota(bytes.begin(), bytes.end(), 0);
  CHECK(hash_bytes(bytes.data(), 75) == 0x2a8f9a75177a16e3ULL);
  Checksum sum;
  sum.update(bytes.data(), bytes.size());
  CHECK(sum.value() == 0x0b721efc2a6d6954ULL);
}

TEST_CASE("a hash of bytes changes with every bit and with the length") {
  std::string text(70, '\0');
  std::set<uint64_t> seen = {hash_bytes(text), hash_bytes(text + std::string(1, '\0'))};
  for (char& c : text) {
    for (int bit = 0; bit < 8; ++bit) {
      c = static_cast<char>(1 << bit);
      CHECK(seen.insert(hash_bytes(text)).second);
    }
    c = 0;
  }
}
