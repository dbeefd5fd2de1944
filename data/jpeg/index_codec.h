#pragma once
// The form in which a seek index is kept: differences between neighbours, in bytes of seven bits.

#include <cstdint>
#include <span>
#include <string>

#include "data/jpeg/seek_index.h"

namespace shoal::data::jpeg {

std::string pack_index(const SeekIndex& index);
bool unpack_index(std::span<const uint8_t> packed, SeekIndex& index);  // false: damaged

}  // namespace shoal::data::jpeg
