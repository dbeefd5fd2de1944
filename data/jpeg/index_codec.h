#pragma once
// Compresses seek indexes for storage: encodes the differences between consecutive seek points as
// variable-length integers (7 bits per byte).

#include <cstdint>
#include <span>
#include <string>

#include "data/jpeg/seek_index.h"

namespace shoal::data::jpeg {

std::string pack_index(const SeekIndex& index);
bool unpack_index(std::span<const uint8_t> packed, SeekIndex& index);  // false if damaged

}  // namespace shoal::data::jpeg
