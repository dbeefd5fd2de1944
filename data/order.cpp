// A Feistel network over the grid left × right, which holds at least n and at most about n +
// sqrt(n) cells: each round shifts one coordinate, modulo its range, by a keyed hash of the other;
// that is a bijection of the grid whatever the hash is. A result outside 0..n-1 is put through
// again until it falls inside ("cycle walking"), which keeps it a bijection of 0..n-1 (Black and
// Rogaway, "Ciphers with arbitrary finite domains", 2002).
#include "data/order.h"

#include <cmath>

#include "data/random.h"

namespace shoal::data {

EpochOrder::EpochOrder(int64_t n, uint64_t seed, int64_t epoch) : n_(n) {
  const uint64_t size = n > 0 ? static_cast<uint64_t>(n) : 1;
  left_ = static_cast<uint64_t>(std::sqrt(static_cast<double>(size)));
  while (left_ * left_ < size) ++left_;
  right_ = (size + left_ - 1) / left_;
  for (int round = 0; round < kRounds; ++round)
    keys_[round] = make_key(Purpose::order, seed, static_cast<uint64_t>(epoch), round);
}

int64_t EpochOrder::operator()(int64_t position) const {
  uint64_t value = static_cast<uint64_t>(position);
  do {
    uint64_t l = value / right_, r = value % right_;
    for (int round = 0; round < kRounds; round += 2) {
      l = (l + mix_bits(keys_[round] + r * kGolden) % left_) % left_;
      r = (r + mix_bits(keys_[round + 1] + l * kGolden) % right_) % right_;
    }
    value = l * right_ + r;
  } while (value >= static_cast<uint64_t>(n_));
  return static_cast<int64_t>(value);
}

}  // namespace shoal::data
