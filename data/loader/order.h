#pragma once
// The global order of one epoch: a random permutation of 0..n-1, computed position by position
// without memory.

#include <array>
#include <cstdint>

namespace shoal::data {

// A pure function of (n, seed, epoch) that is the same in all builds. Immutable, cheap to copy.
class EpochOrder {
 public:
  EpochOrder() = default;
  EpochOrder(int64_t n, uint64_t seed, int64_t epoch);

  int64_t size() const { return n_; }
  // The sample at `position`, 0 <= position < n. A bijection. About 0.1 µs.
  int64_t operator()(int64_t position) const;

 private:
  static constexpr int kRounds = 8;
  int64_t n_ = 0;
  uint64_t left_ = 1, right_ = 1;  // left_ * right_ >= n
  std::array<uint64_t, kRounds> keys_{};
};

// A random order that reads neighbouring samples close together, so that a disk reads long stretches
// and the page cache need not hold the whole dataset. Chunks of kChunk neighbouring samples are put
// in random order; each window of kWindow samples of that is shuffled. The chunk boundaries are
// drawn for each epoch. As pure, cheap and stable as EpochOrder.
//
// How random: 256 neighbours in the order over ImageNet's listing (1281 images of each of 1000
// classes in a row) are of about 185 different classes; with EpochOrder 226.
class ChunkedOrder {
 public:
  static constexpr int64_t kChunk = 16;  // samples
  static constexpr int64_t kWindow =
      512 * kChunk;  // samples shuffled together: about 0.9 GB of ImageNet

  ChunkedOrder() = default;
  ChunkedOrder(int64_t n, uint64_t seed, int64_t epoch);

  // The sample at `position`, 0 <= position < n. A bijection. About 0.3 µs.
  int64_t operator()(int64_t position) const;

  // The chunk to prefetch at `position`, a multiple of kChunk: one of those that make up the window
  // after this one. It may wrap around the end of the listing. Count 0: there is no next window.
  struct Stretch {
    int64_t first = 0, count = 0;
  };
  Stretch ahead(int64_t position) const;

 private:
  int64_t place(int64_t chunked) const;  // position in the order of chunks -> sample

  int64_t n_ = 0, whole_chunks_ = 0, shift_ = 0, epoch_ = 0;
  uint64_t seed_ = 0;
  EpochOrder chunks_;
};

}  // namespace shoal::data
