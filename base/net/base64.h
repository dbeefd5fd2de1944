#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace shoal {

// Returns the bytes as base64 (RFC 4648, with padding).
std::string base64(std::span<const uint8_t> bytes);

}  // namespace shoal
