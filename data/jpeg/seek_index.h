#pragma once
// Index of positions in the bit stream of a JPEG at which decoding can start. Does not change the
// JPEG.
//
// Each row of MCUs (minimum coded units) is divided into segments of 64 pixels. For each segment,
// the index stores the position of its first bit and the DC predictors there: 12 bytes per segment,
// about 4 % of a photograph's size. An index may cover only the first segments of an image; it
// grows when the decoder reads further.

#include <cstdint>
#include <vector>

#include "data/jpeg/header.h"

namespace shoal::data::jpeg {

struct SeekPoint {
  uint32_t byte = 0;  // offset in the file
  uint16_t bit = 0;   // index of the bit in this byte; 0 is the most significant bit
  int16_t predictor[3] = {};

  bool operator==(const SeekPoint&) const = default;
};
static_assert(sizeof(SeekPoint) == 12);

// The segments of an image, in reading order.
struct Segments {
  int64_t width = 0;    // MCUs in one segment
  int64_t per_row = 0;  // segments in a row of MCUs; the last may be narrower
  int64_t rows = 0;

  explicit Segments(const Header& header);
  int64_t total() const { return per_row * rows; }
};

// Element i is the start of segment i. Contains the segments known so far.
using SeekIndex = std::vector<SeekPoint>;

}  // namespace shoal::data::jpeg
