#pragma once
// Operations that follow from the histogram of a channel, as tables of 256 levels.

#include <array>
#include <cstdint>

namespace shoal::data::augment {

using Table = std::array<uint8_t, 256>;
using Tables = std::array<Table, 3>;  // red, green, blue
using Histogram = std::array<std::array<uint32_t, 256>, 3>;

Histogram histogram_of(const uint8_t* pixels, int64_t count);
Tables equalize_tables(const Histogram& histogram);
Tables auto_contrast_tables(const Histogram& histogram);

// pixels[i] = the table of its channel at pixels[i]. Fast where no table changes anything.
void look_up(const Tables& tables, uint8_t* pixels, int64_t count);

}  // namespace shoal::data::augment
