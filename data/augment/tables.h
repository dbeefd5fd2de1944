#pragma once
// Look-up tables for operations that map each level (0 … 255) of a channel to a new one, based on
// the channel's histogram.

#include <array>
#include <cstdint>

namespace shoal::data::augment {

using Table = std::array<uint8_t, 256>;
using Tables = std::array<Table, 3>;  // red, green, blue
using Histogram = std::array<std::array<uint32_t, 256>, 3>;

// Returns how often each level occurs in each channel of `count` RGB pixels.
Histogram histogram_of(const uint8_t* pixels, int64_t count);
// Return tables that have the effect of Pillow's ImageOps.equalize and ImageOps.autocontrast.
Tables equalize_tables(const Histogram& histogram);
Tables auto_contrast_tables(const Histogram& histogram);

// Maps the channels of `count` RGB pixels through their tables. Does nothing if no table changes a
// level.
void look_up(const Tables& tables, uint8_t* pixels, int64_t count);

}  // namespace shoal::data::augment
