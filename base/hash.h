#pragma once
// Hashes of 64-bit values and of bytes. Not cryptographic.
//
// Never change the results of these functions: the order of samples, random masks, erased pixels,
// packed sets and caches depend on them (tests/base/hash_test.cpp checks some). For the same
// reason, a library such as xxHash cannot replace them. CUDA code includes this header, so it must
// stay valid C++17.

#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/both.h"

namespace shoal {

// Maps different values to different values. Changing one input bit changes each output bit with a
// probability of about 1/2. (The finalizer of SplitMix64: David Stafford's "Mix13".)
SHOAL_BOTH constexpr uint64_t mix_bits(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

constexpr uint64_t kGolden = 0x9e3779b97f4a7c15ULL;  // 2^64 / golden ratio: SplitMix64's increment

// Adds `value` to the hash of a sequence. The result depends on the order of the values.
constexpr uint64_t combine(uint64_t hash, uint64_t value) {
  return mix_bits(hash ^ mix_bits(value + kGolden));
}

// Hashes `length` bytes. Uses four independent lanes, because the processor can overlap their
// multiplications.
inline uint64_t hash_bytes(const void* data, int64_t length) {
  const auto* at = static_cast<const unsigned char*>(data);
  uint64_t lanes[4] = {1, 2, 3, 4};
  int64_t left = length;
  for (; left >= 32; left -= 32, at += 32) {
    for (int i = 0; i < 4; ++i) {
      uint64_t word = 0;
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

inline uint64_t hash_bytes(std::string_view bytes) {
  return hash_bytes(bytes.data(), static_cast<int64_t>(bytes.size()));
}

}  // namespace shoal
