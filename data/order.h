#pragma once
// The global order of one epoch: a random permutation of 0..n-1. It is computed for each position
// separately and never stored.

#include <array>
#include <cstdint>

namespace shoal::data {

// A uniform random order. A pure function of (n, seed, epoch) that is the same in all builds.
// Immutable, cheap to copy.
class EpochOrder {
 public:
  EpochOrder() = default;
  EpochOrder(int64_t n, uint64_t seed, int64_t epoch);

  int64_t size() const { return n_; }
  // Returns the sample at `position`, 0 <= position < n. A bijection. Takes about 0.1 µs.
  int64_t operator()(int64_t position) const;

 private:
  static constexpr int kRounds = 8;
  int64_t n_ = 0;
  uint64_t left_ = 1, right_ = 1;  // left_ * right_ >= n
  std::array<uint64_t, kRounds> keys_{};
};

// A random order in which neighboring samples are read at about the same time, so that a disk reads
// long stretches and the page cache need not contain the whole dataset. Puts chunks of kChunk
// neighboring samples in random order, then shuffles each window of kWindow samples of this
// sequence. The chunk boundaries are drawn for each epoch. Like EpochOrder, a pure function that is
// the same in all builds, immutable and cheap to copy.
//
// How random the order is: for ImageNet, listed class by class (about 1281 images in each of 1000
// classes), 256 consecutive positions contain about 185 different classes; with EpochOrder 226.
class ChunkedOrder {
 public:
  static constexpr int64_t kChunk = 16;  // samples
  static constexpr int64_t kWindow =
      512 * kChunk;  // samples shuffled together: about 0.9 GB of ImageNet

  ChunkedOrder() = default;
  ChunkedOrder(int64_t n, uint64_t seed, int64_t epoch);

  // Returns the sample at `position`, 0 <= position < n. A bijection. Takes about 0.3 µs.
  int64_t operator()(int64_t position) const;

  // ahead() returns one chunk of the next window, for prefetching. Call it once for each `position`
  // that is a multiple of kChunk: these calls return different chunks. A chunk may wrap around from
  // sample n - 1 to 0. Count 0: no chunk is left.
  struct Stretch {
    int64_t first = 0, count = 0;
  };
  Stretch ahead(int64_t position) const;

 private:
  int64_t place(int64_t chunked) const;  // converts a position in the order of chunks to a sample

  int64_t n_ = 0, whole_chunks_ = 0, shift_ = 0, epoch_ = 0;
  uint64_t seed_ = 0;
  EpochOrder chunks_;
};

}  // namespace shoal::data
