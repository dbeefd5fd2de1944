#pragma once
// The global order of one epoch: a random permutation of 0..n-1 that is evaluated place by place,
// without memory.

#include <array>
#include <cstdint>

namespace shoal::data {

// Immutable, cheap to make and to copy; a pure function of (n, seed, epoch), frozen over builds.
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

}  // namespace shoal::data
