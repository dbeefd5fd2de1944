#pragma once
// What the loader hands to the training loop.

#include <cstdint>
#include <span>

#include "data/data_options.h"

namespace shoal::data {

// What the device does with a row after decoding (ops::prepare_batch).
struct Row {
  int32_t label = 0;
  uint64_t key = 0;
  int32_t partner = 0;  // row of this batch whose image is mixed in; its own index: none
  float lambda = 1;     // weight of this row's label and, for mixup, of its pixels
  bool blend = false;   // mixup: pixels are lambda * own + (1 - lambda) * partner's
  int32_t box[4] = {};  // cutmix: x0, y0, x1, y1 taken from the partner
  // Random erasing: x0, y0, x1, y1 of `erased` rectangles.
  int32_t erase[kMostErasures][4] = {};
  uint8_t erased = 0;
  EraseFill erase_fill = EraseFill::constant;
  // Evaluation only: the image could not be read. Its pixels are zero and it does not count.
  bool unreadable = false;
};

// `capacity` rows of memory; the first `count` are filled. Owned by the loader and valid until the
// next call of next() or start_epoch(). Pixels are RGB.
struct Batch {
  uint8_t* images = nullptr;  // capacity×views×height×width×3
  std::span<const Row> rows;  // count
  int64_t capacity = 0;
  int64_t count = 0;  // below capacity only in the last batches of evaluation; may be 0 there
  int64_t height = 0, width = 0;
  int64_t views = 1;           // images per row; above 1 in evaluation only
  int64_t first_position = 0;  // of row 0, in the global order
  // Scratch bytes after the last row, unaligned, for data copied to the device together with the
  // images; 0 unless the allocator asks for them.
  int64_t room = 0;
};

}  // namespace shoal::data
