// CRC-32C with SSE4.2's CRC32 instruction. This file is compiled for SSE4.2, so it must not contain
// any other code.
#include <nmmintrin.h>

#include <cstddef>
#include <cstdint>

namespace shoal::data {

uint32_t crc32c_sse42(uint32_t crc, const void* bytes, size_t count);

uint32_t crc32c_sse42(uint32_t crc, const void* bytes, size_t count) {
  const auto* at = static_cast<const uint8_t*>(bytes);
  uint64_t sum = ~crc;
  for (; count >= 8; count -= 8, at += 8) {
    uint64_t word;
    __builtin_memcpy(&word, at, 8);
    sum = _mm_crc32_u64(sum, word);
  }
  auto last = static_cast<uint32_t>(sum);
  for (; count > 0; --count, ++at) last = _mm_crc32_u8(last, *at);
  return ~last;
}

}  // namespace shoal::data
