#pragma once
// The checksum of checkpoints. Markers store it, so its values are frozen.

#include <cstddef>
#include <cstdint>
#include <string>

namespace shoal {

// 64-bit checksum of a byte stream. Independent of how the stream is cut into pieces.
class Checksum {
 public:
  void update(const void* bytes, size_t size);
  uint64_t value() const;
  std::string hex() const;  // 16 digits

 private:
  uint64_t state_ = 0x9E3779B97F4A7C15ull;
  uint64_t length_ = 0;
  uint8_t tail_[8] = {};
};

}  // namespace shoal
