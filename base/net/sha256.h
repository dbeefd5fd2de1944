#pragma once
// SHA-256 with OpenSSL, to check downloaded files.

#include <filesystem>
#include <string>

namespace shoal {

// Returns the digest of a file's bytes as 64 hexadecimal digits. Throws std::system_error with the
// path.
std::string sha256_of(const std::filesystem::path& file);

}  // namespace shoal
