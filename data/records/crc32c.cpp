#include "data/records/crc32c.h"

#include <array>
#include <cstring>

#include "base/processor.h"

namespace shoal::data {

#ifdef __x86_64__
uint32_t crc32c_sse42(uint32_t crc, const void* bytes, size_t count);  // crc32c_sse42.cpp
#endif

namespace {

constexpr uint32_t kPolynomial = 0x82f63b78u;  // bits reversed

// tables[k][b]: contribution of byte b to the sum if k more bytes follow it.
using Tables = std::array<std::array<uint32_t, 256>, 8>;

constexpr Tables make_tables() {
  Tables tables{};
  for (uint32_t b = 0; b < 256; ++b) {
    uint32_t sum = b;
    for (int bit = 0; bit < 8; ++bit) sum = sum >> 1 ^ (sum & 1 ? kPolynomial : 0);
    tables[0][b] = sum;
  }
  for (size_t k = 1; k < 8; ++k)
    for (uint32_t b = 0; b < 256; ++b)
      tables[k][b] = tables[k - 1][b] >> 8 ^ tables[0][tables[k - 1][b] & 0xff];
  return tables;
}
constexpr Tables kTables = make_tables();

}  // namespace

uint32_t crc32c_portable(uint32_t crc, const void* bytes, size_t count) {
  const auto* at = static_cast<const uint8_t*>(bytes);
  uint32_t sum = ~crc;
  for (; count >= 8; count -= 8, at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, at, 8);
    word ^= sum;
    sum = 0;
    for (size_t k = 0; k < 8; ++k) sum ^= kTables[7 - k][word >> 8 * k & 0xff];
  }
  for (; count > 0; --count, ++at) sum = sum >> 8 ^ kTables[0][(sum ^ *at) & 0xff];
  return ~sum;
}

uint32_t crc32c(uint32_t crc, const void* bytes, size_t count) {
#ifdef __x86_64__
  if (processor().sse42) return crc32c_sse42(crc, bytes, count);
#endif
  return crc32c_portable(crc, bytes, count);
}

}  // namespace shoal::data
