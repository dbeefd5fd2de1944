#include "data/sources/cached_dataset.h"

#include <new>

namespace shoal::data {

CachedDataset::CachedDataset(std::shared_ptr<const Dataset> source, int64_t limit_bytes)
    : ForwardingDataset(std::move(source)),
      limit_(limit_bytes),
      kept_(new std::atomic<Kept*>[static_cast<size_t>(size())] {}) {}

CachedDataset::~CachedDataset() {
  for (int64_t i = 0; i < size(); ++i) delete kept_[static_cast<size_t>(i)].load();
}

void CachedDataset::read(int64_t sample, std::vector<uint8_t>& bytes) const {
  const Kept* kept = kept_[static_cast<size_t>(sample)].load(std::memory_order_acquire);
  if (kept != nullptr) {
    bytes = kept->bytes;
    return;
  }
  inner().read(sample, bytes);
  keep(sample, bytes);
}

// If two threads read the same image at the same time, keeps the bytes of whichever ends first.
void CachedDataset::keep(int64_t sample, const std::vector<uint8_t>& bytes) const {
  const auto size = static_cast<int64_t>(bytes.size() + sizeof(Kept));
  if (used_.fetch_add(size, std::memory_order_relaxed) + size > limit_) {
    used_.fetch_sub(size, std::memory_order_relaxed);
    return;
  }
  std::unique_ptr<Kept> fresh(new Kept{bytes});
  Kept* nothing = nullptr;
  if (kept_[static_cast<size_t>(sample)].compare_exchange_strong(nothing, fresh.get(),
                                                                 std::memory_order_acq_rel))
    static_cast<void>(fresh.release());
  else
    used_.fetch_sub(size, std::memory_order_relaxed);
}

void CachedDataset::will_read(int64_t first, int64_t count) const {
  for (int64_t i = first; i < first + count; ++i)
    if (!kept_[static_cast<size_t>(i)].load(std::memory_order_relaxed))
      return inner().will_read(first, count);
}

}  // namespace shoal::data
