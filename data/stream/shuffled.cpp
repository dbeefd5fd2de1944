#include "data/stream/shuffled.h"

#include <algorithm>
#include <utility>

namespace shoal::data {

ShuffledStream::ShuffledStream(std::unique_ptr<RecordStream> stream, int64_t size, uint64_t seed,
                               int64_t epoch)
    : stream_(std::move(stream)),
      size_(static_cast<size_t>(std::max<int64_t>(size, 1))),
      random_(make_key(Purpose::shuffle, seed, static_cast<uint64_t>(epoch), 0)) {}

bool ShuffledStream::next(StreamImage& image) {
  while (!ended_ && held_.size() < size_) {
    StreamImage more;
    ended_ = !stream_->next(more);
    if (!ended_) held_.push_back(std::move(more));
  }
  if (held_.empty()) return false;
  std::swap(held_[static_cast<size_t>(random_.below(held_.size()))], held_.back());
  image = std::move(held_.back());
  held_.pop_back();
  return true;
}

}  // namespace shoal::data
