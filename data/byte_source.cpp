#include "data/byte_source.h"

#include <algorithm>
#include <cstring>

namespace shoal::data {
namespace {

constexpr size_t kAppendPiece = size_t{1} << 20;  // bytes that append_bytes() reads at a time

}  // namespace

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

bool append_bytes(ByteSource& source, uint64_t count, std::vector<uint8_t>& to) {
  while (count > 0) {
    const size_t known = to.size();
    const auto wanted = static_cast<size_t>(std::min<uint64_t>(count, kAppendPiece));
    to.resize(known + wanted);
    const size_t found = source.read(to.data() + known, wanted);
    to.resize(known + found);
    if (found < wanted) return false;
    count -= found;
  }
  return true;
}

const std::vector<uint8_t>& PeekSource::peek(size_t bytes) {
  if (taken_ > 0) head_.erase(head_.begin(), head_.begin() + static_cast<int64_t>(taken_));
  taken_ = 0;
  const size_t known = head_.size();
  if (known < bytes) {
    head_.resize(bytes);
    head_.resize(known + source_.read(head_.data() + known, bytes - known));
  }
  return head_;
}

size_t PeekSource::read(void* to, size_t bytes) {
  const size_t count = std::min(bytes, head_.size() - taken_);
  if (count > 0) std::memcpy(to, head_.data() + taken_, count);
  taken_ += count;
  if (count == bytes) return count;
  return count + source_.read(static_cast<uint8_t*>(to) + count, bytes - count);
}

size_t LimitedSource::read(void* to, size_t bytes) {
  const uint64_t left = end_ - source_.position();
  return source_.read(to, static_cast<size_t>(std::min<uint64_t>(bytes, left)));
}

}  // namespace shoal::data
