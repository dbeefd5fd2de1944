#pragma once
// CRC-32C (Castagnoli), the checksum of TFRecords. Source: RFC 3720, appendix B.4. Own code,
// because Debian 12 has no C or C++ library for it.

#include <cstddef>
#include <cstdint>

namespace shoal::data {

// Goes on from `crc`, which is 0 at the start. With the processor's instruction where it has one.
uint32_t crc32c(uint32_t crc, const void* bytes, size_t count);

// The form in which TFRecords store it.
inline uint32_t masked_crc(uint32_t crc) {
  return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

// The same by table, for any processor.
uint32_t crc32c_portable(uint32_t crc, const void* bytes, size_t count);

}  // namespace shoal::data
