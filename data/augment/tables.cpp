#include "data/augment/tables.h"

#include <algorithm>

namespace shoal::data::augment {
namespace {

template <class Function>
Table make_table(Function&& level) {
  Table table;
  for (int i = 0; i < 256; ++i)
    table[static_cast<size_t>(i)] = static_cast<uint8_t>(std::clamp<int>(level(i), 0, 255));
  return table;
}

}  // namespace

// Alternates between two histograms. With a single one, if two neighboring pixels have the same
// level, the second addition would have to wait for the first.
Histogram histogram_of(const uint8_t* pixels, int64_t count) {
  Histogram even{}, odd{};
  int64_t i = 0;
  for (; i + 2 <= count; i += 2, pixels += 6) {
    for (size_t c = 0; c < 3; ++c) ++even[c][pixels[c]];
    for (size_t c = 0; c < 3; ++c) ++odd[c][pixels[3 + c]];
  }
  for (; i < count; ++i, pixels += 3)
    for (size_t c = 0; c < 3; ++c) ++even[c][pixels[c]];
  for (size_t c = 0; c < 3; ++c)
    for (size_t k = 0; k < 256; ++k) even[c][k] += odd[c][k];
  return even;
}

// By Pillow's rule, each output level covers about the same number of pixels. Pillow computes this
// number without the pixels of the brightest level that occurs.
Tables equalize_tables(const Histogram& histogram) {
  Tables tables;
  for (size_t c = 0; c < 3; ++c) {
    const auto& counts = histogram[c];
    int64_t sum = 0, brightest = 0;
    for (const uint32_t count : counts) {
      sum += count;
      if (count > 0) brightest = count;
    }
    const int64_t step = (sum - brightest) / 255;
    int64_t below = step / 2;
    tables[c] = make_table([&](int i) {
      if (step == 0) return i;
      const int64_t level = below / step;
      below += counts[static_cast<size_t>(i)];
      return static_cast<int>(std::min<int64_t>(level, 255));
    });
  }
  return tables;
}

Tables auto_contrast_tables(const Histogram& histogram) {
  Tables tables;
  for (size_t c = 0; c < 3; ++c) {
    const auto& counts = histogram[c];
    int low = 0, high = 255;
    while (low < 255 && counts[static_cast<size_t>(low)] == 0) ++low;
    while (high > 0 && counts[static_cast<size_t>(high)] == 0) --high;
    const double scale = high > low ? 255.0 / (high - low) : 1;
    const double offset = high > low ? -low * scale : 0;
    tables[c] = make_table([&](int i) { return static_cast<int>(i * scale + offset); });
  }
  return tables;
}

void look_up(const Tables& tables, uint8_t* pixels, int64_t count) {
  const Table same = make_table([](int i) { return i; });
  if (tables[0] == same && tables[1] == same && tables[2] == same) return;
  for (int64_t i = 0; i < 3 * count; i += 3)
    for (size_t c = 0; c < 3; ++c)
      pixels[static_cast<size_t>(i) + c] = tables[c][pixels[static_cast<size_t>(i) + c]];
}

}  // namespace shoal::data::augment
