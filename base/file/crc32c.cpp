#include "base/file/crc32c.h"

#include <isa-l/crc.h>

#include <algorithm>

namespace shoal {

uint32_t crc32c(uint32_t crc, const void* bytes, size_t count) {
  constexpr size_t kMost = 1 << 30;                                  // crc32_iscsi() takes an int
  auto* at = static_cast<unsigned char*>(const_cast<void*>(bytes));  // crc32_iscsi() only reads
  while (count > 0) {
    const size_t part = std::min(count, kMost);
    crc = ~crc32_iscsi(at, static_cast<int>(part), ~crc);
    at += part, count -= part;
  }
  return crc;
}

}  // namespace shoal
