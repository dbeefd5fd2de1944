#pragma once
// A dataset that keeps encoded images in memory once they have been read.

#include <atomic>
#include <memory>

#include "data/dataset.h"

namespace shoal::data {

// Images are kept as long as they fit into the limit, and then for good: an epoch's order is
// random, so none of them is worth more than another. Beside the limit it needs 8 bytes an image.
class CachedDataset : public Dataset {
 public:
  CachedDataset(std::shared_ptr<const Dataset> source, int64_t limit_bytes);
  ~CachedDataset() override;
  CachedDataset(const CachedDataset&) = delete;
  CachedDataset& operator=(const CachedDataset&) = delete;

  int64_t size() const override { return source_->size(); }
  const std::vector<std::string>& classes() const override { return source_->classes(); }
  int32_t label(int64_t sample) const override { return source_->label(sample); }
  std::string name(int64_t sample) const override { return source_->name(sample); }
  void read(int64_t sample, std::vector<uint8_t>& bytes) const override;
  void will_read(int64_t first, int64_t count) const override;
  bool seek_index(int64_t sample, jpeg::SeekIndex& index) const override {
    return source_->seek_index(sample, index);
  }
  bool keeps_indexes() const override { return source_->keeps_indexes(); }
  int64_t encoded_bytes(int64_t sample) const override { return source_->encoded_bytes(sample); }

  int64_t cached_bytes() const { return used_.load(std::memory_order_relaxed); }

 private:
  struct Kept {
    std::vector<uint8_t> bytes;
  };
  void keep(int64_t sample, const std::vector<uint8_t>& bytes) const;

  std::shared_ptr<const Dataset> source_;
  int64_t limit_;
  mutable std::atomic<int64_t> used_{0};
  mutable std::unique_ptr<std::atomic<Kept*>[]> kept_;
};

}  // namespace shoal::data
