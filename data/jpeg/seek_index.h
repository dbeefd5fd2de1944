#pragma once
// Where in the bit stream of a JPEG its parts begin, so that decoding can start in the middle. The
// file's own bytes stay as they are.
//
// A row of MCUs is cut into segments of 64 pixels. Of each the index knows the first bit and the DC
// predictors there: 12 bytes, about 4 % of a photograph's size. An index may know the segments up
// to some place only: it grows when an image is decoded further than before.

#include <cstdint>
#include <vector>

#include "data/jpeg/header.h"

namespace shoal::data::jpeg {

struct SeekPoint {
  uint32_t byte = 0;  // offset in the file
  uint16_t bit = 0;   // bits of that byte that belong to the segment before
  int16_t predictor[3] = {};

  bool operator==(const SeekPoint&) const = default;
};
static_assert(sizeof(SeekPoint) == 12);

// The segments of an image, in reading order.
struct Segments {
  int64_t width = 0;    // MCUs of one
  int64_t per_row = 0;  // the last of a row may be narrower
  int64_t rows = 0;

  explicit Segments(const Header& header);
  int64_t total() const { return per_row * rows; }
};

// points[i]: segment i; as many as are known. Empty: nothing is known yet.
using SeekIndex = std::vector<SeekPoint>;

}  // namespace shoal::data::jpeg
