#pragma once
// A fast 64-bit hash of bytes, for comparing runs and noticing damaged files; not for adversaries.

#include <cstdint>
#include <cstring>

#include "data/random.h"

namespace shoal::data {

inline uint64_t hash_bytes(const void* data, int64_t length) {
  const auto* at = static_cast<const uint8_t*>(data);
  uint64_t lanes[4] = {1, 2, 3, 4};
  int64_t left = length;
  for (; left >= 32; left -= 32, at += 32) {
    for (int i = 0; i < 4; ++i) {
      uint64_t word;
      std::memcpy(&word, at + 8 * i, 8);
      lanes[i] = (lanes[i] ^ word) * 0x9fb21c651e98df25ULL;
      lanes[i] ^= lanes[i] >> 32;
    }
  }
  uint64_t tail[4] = {};
  if (left > 0) std::memcpy(tail, at, static_cast<size_t>(left));
  uint64_t hash = static_cast<uint64_t>(length);
  for (int i = 0; i < 4; ++i) hash = combine(combine(hash, lanes[i]), tail[i]);
  return hash;
}

}  // namespace shoal::data
