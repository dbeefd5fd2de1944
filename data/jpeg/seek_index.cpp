#include "data/jpeg/seek_index.h"

#include <algorithm>

namespace shoal::data::jpeg {
namespace {

constexpr int64_t kSegmentPixels = 64;

}  // namespace

Segments::Segments(const Header& header)
    : width(std::max<int64_t>(1, kSegmentPixels / header.mcu_width())),
      per_row((header.mcu_columns() + width - 1) / width),
      rows(header.mcu_rows()) {}

}  // namespace shoal::data::jpeg
