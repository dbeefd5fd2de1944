#pragma once
// CRC-32C (Castagnoli), the checksum of TFRecords and of TensorBoard's event files.

#include <cstddef>
#include <cstdint>

namespace shoal {

// Continues a checksum. `crc`: checksum of the bytes before `bytes`, or 0 if there are none.
uint32_t crc32c(uint32_t crc, const void* bytes, size_t count);

// Converts a checksum to the form in which TFRecords store it.
inline uint32_t masked_crc(uint32_t crc) {
  return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

}  // namespace shoal
