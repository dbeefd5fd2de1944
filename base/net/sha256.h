#pragma once
// SHA-256 with OpenSSL.

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace shoal {

using Sha256 = std::array<uint8_t, 32>;

// Returns the digest of the bytes.
Sha256 sha256_of_bytes(std::string_view bytes);

// Returns the digest of a file's bytes as 64 hexadecimal digits. Throws std::system_error, with the
// path in the message, if the file cannot be read.
std::string sha256_of(const std::filesystem::path& file);

}  // namespace shoal
