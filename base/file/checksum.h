#pragma once
// Checksum of checkpoint files. The marker file of each checkpoint stores it, so the algorithm must
// never change.

#include <cstddef>
#include <cstdint>
#include <string>

namespace shoal {

// 64-bit checksum of a stream of bytes. Does not depend on how the bytes are divided among update()
// calls.
class Checksum {
 public:
  void update(const void* bytes, size_t size);
  uint64_t value() const;
  std::string hex() const;  // value() as 16 hexadecimal digits

 private:
  uint64_t state_ = 0x9E3779B97F4A7C15ull;
  uint64_t length_ = 0;
  uint8_t tail_[8] = {};
};

}  // namespace shoal
