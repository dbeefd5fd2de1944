#pragma once
// A dataset that keeps encoded images in memory once they have been read.

#include <atomic>
#include <memory>

#include "data/dataset.h"

namespace shoal::data {

// Keeps each image that still fits into `limit_bytes`, and never evicts one: the order of an epoch
// is random, so each image is equally useful. Needs 8 bytes per image in addition to the limit.
class CachedDataset : public ForwardingDataset {
 public:
  CachedDataset(std::shared_ptr<const Dataset> source, int64_t limit_bytes);
  ~CachedDataset() override;
  CachedDataset(const CachedDataset&) = delete;
  CachedDataset& operator=(const CachedDataset&) = delete;

  void read(int64_t sample, std::vector<uint8_t>& bytes) const override;
  void will_read(int64_t first, int64_t count) const override;

  // Memory that the cached images use, in bytes.
  int64_t cached_bytes() const { return used_.load(std::memory_order_relaxed); }

 private:
  struct Kept {
    std::vector<uint8_t> bytes;
  };
  void keep(int64_t sample, const std::vector<uint8_t>& bytes) const;

  int64_t limit_;
  mutable std::atomic<int64_t> used_{0};
  mutable std::unique_ptr<std::atomic<Kept*>[]> kept_;
};

}  // namespace shoal::data
