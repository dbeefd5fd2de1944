#include "data/byte_source.h"

#include <algorithm>
#include <vector>

namespace shoal::data {

uint64_t ByteSource::skip(uint64_t bytes) {
  std::vector<uint8_t> unwanted(static_cast<size_t>(std::min<uint64_t>(bytes, 64 * 1024)));
  uint64_t skipped = 0;
  while (skipped < bytes) {
    const auto wanted = static_cast<size_t>(std::min<uint64_t>(bytes - skipped, unwanted.size()));
    const size_t count = read(unwanted.data(), wanted);
    skipped += count;
    if (count < wanted) break;
  }
  return skipped;
}

size_t FileSource::read(void* to, size_t bytes) {
  const auto wanted = static_cast<size_t>(std::min<uint64_t>(bytes, end_ - at_));
  const int64_t count = file_.read_at(at_, to, static_cast<int64_t>(wanted));
  at_ += static_cast<uint64_t>(count);
  return static_cast<size_t>(count);
}

uint64_t FileSource::skip(uint64_t bytes) {
  const uint64_t count = std::min(bytes, end_ - at_);
  at_ += count;
  return count;
}

}  // namespace shoal::data
