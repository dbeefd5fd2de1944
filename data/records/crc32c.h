#pragma once
// CRC-32C (Castagnoli), the checksum of TFRecords. Source: RFC 3720, appendix B.4. Implemented here
// because Debian 12 has no C or C++ library for it.

#include <cstddef>
#include <cstdint>

namespace shoal::data {

// Continues a checksum. `crc`: checksum of the bytes before `bytes`, or 0 if there are none. Uses
// the processor's CRC instruction if it has one.
uint32_t crc32c(uint32_t crc, const void* bytes, size_t count);

// Converts a checksum to the form in which TFRecords store it.
inline uint32_t masked_crc(uint32_t crc) {
  return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

// Like crc32c(), but computed with tables, for any processor.
uint32_t crc32c_portable(uint32_t crc, const void* bytes, size_t count);

}  // namespace shoal::data
