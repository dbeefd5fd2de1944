// EpochOrder is a Feistel network over a grid of left × right cells. The number of cells is at
// least n and at most about n + sqrt(n). Each round shifts one coordinate, modulo its range, by a
// keyed hash of the other coordinate. This is a bijection of the grid for any hash. A result
// outside 0..n-1 goes through the network again until it is inside ("cycle walking"), which gives a
// bijection of 0..n-1 (Black and Rogaway, "Ciphers with arbitrary finite domains", 2002).
#include "data/order.h"

#include <algorithm>
#include <cmath>

#include "base/round.h"
#include "data/random.h"

namespace shoal::data {

EpochOrder::EpochOrder(int64_t n, uint64_t seed, int64_t epoch) : n_(n) {
  const uint64_t size = n > 0 ? static_cast<uint64_t>(n) : 1;
  left_ = static_cast<uint64_t>(std::sqrt(static_cast<double>(size)));
  while (left_ * left_ < size) ++left_;
  right_ = ceil_divide(size, left_);
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

ChunkedOrder::ChunkedOrder(int64_t n, uint64_t seed, int64_t epoch)
    : n_(n),
      whole_chunks_(n / kChunk),
      epoch_(epoch),
      seed_(make_key(Purpose::chunk, seed, static_cast<uint64_t>(epoch), 0)),
      chunks_(whole_chunks_, seed_, epoch) {
  if (n > 0) shift_ = static_cast<int64_t>(KeyedRandom(seed_).below(static_cast<uint64_t>(n)));
}

// Whole chunks are in the order of chunks_; the incomplete chunk is last.
int64_t ChunkedOrder::place(int64_t chunked) const {
  const int64_t chunk = chunked / kChunk;
  const int64_t found =
      chunk < whole_chunks_ ? chunks_(chunk) * kChunk + chunked % kChunk : chunked;
  return found + shift_ < n_ ? found + shift_ : found + shift_ - n_;
}

int64_t ChunkedOrder::operator()(int64_t position) const {
  const int64_t window = position / kWindow, begin = window * kWindow;
  const int64_t size = std::min(kWindow, n_ - begin);
  const EpochOrder mixed(size, combine(seed_, static_cast<uint64_t>(window)), epoch_);
  return place(begin + mixed(position - begin));
}

ChunkedOrder::Stretch ChunkedOrder::ahead(int64_t position) const {
  const int64_t chunked = position + kWindow;
  if (chunked >= n_) return {};
  return {place(chunked), std::min(kChunk, n_ - chunked)};
}

}  // namespace shoal::data
