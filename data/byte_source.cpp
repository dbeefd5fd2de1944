#include "data/byte_source.h"

#include <algorithm>
#include <cstring>

namespace shoal::data {
namespace {

constexpr uint64_t kPieceBytes = uint64_t{4} << 20;

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

FileSource::FileSource(const File& file, uint64_t begin, uint64_t end, Reads reads)
    : file_(file), at_(begin), end_(end), reads_(reads) {
  if (reads == Reads::forward) file.will_read_forward();
}

size_t FileSource::read(void* to, size_t bytes) {
  const auto wanted = static_cast<size_t>(std::min<uint64_t>(bytes, end_ - at_));
  if (reads_ == Reads::forward) return read_forward(static_cast<uint8_t*>(to), wanted);
  const int64_t count = file_.read_at(at_, to, static_cast<int64_t>(wanted));
  at_ += static_cast<uint64_t>(count);
  return static_cast<size_t>(count);
}

uint64_t FileSource::skip(uint64_t bytes) {
  if (reads_ == Reads::forward) return ByteSource::skip(bytes);
  const uint64_t count = std::min(bytes, end_ - at_);
  at_ += count;
  return count;
}

size_t FileSource::read_forward(uint8_t* to, size_t bytes) {
  size_t done = 0;
  while (done < bytes) {
    if (at_ == piece_end_ || piece_end_ == 0) {
      ahead_.resize(static_cast<size_t>(std::min(kPieceBytes, end_ - at_)));
      const int64_t count = file_.read_at(at_, ahead_.data(), static_cast<int64_t>(ahead_.size()));
      piece_begin_ = at_;
      piece_end_ = at_ + static_cast<uint64_t>(count);
      if (count == 0) break;
    }
    const size_t count = std::min<size_t>(bytes - done, static_cast<size_t>(piece_end_ - at_));
    std::memcpy(to + done, ahead_.data() + (at_ - piece_begin_), count);
    done += count;
    at_ += count;
  }
  return done;
}

}  // namespace shoal::data
