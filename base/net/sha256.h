#pragma once
// SHA-256 (FIPS 180-4), to check downloaded files.

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

namespace shoal {

class Sha256 {
 public:
  void update(const void* bytes, size_t size);
  std::string hex();  // the digest as 64 hexadecimal digits; call once, after the last update()

 private:
  void add_block(const uint8_t* block);

  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<uint8_t, 64> block_{};
  uint64_t length_ = 0;  // bytes
};

// Returns the digest of a file's bytes. Throws std::system_error with the path.
std::string sha256_of(const std::filesystem::path& file);

}  // namespace shoal
