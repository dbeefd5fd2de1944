#pragma once
// What the loader hands to the training loop, and the ticket an image travels on until it is
// pixels.

#include <cstdint>
#include <span>

#include "data/data_options.h"

namespace shoal::data {

// One image to be made: drawn up by a feed, carried out by a worker. Plain values, cheap to copy.
struct Ticket {
  int64_t position = 0;  // place in the epoch's global order, 0..n-1
  int64_t sample = 0;    // index into the dataset
  uint64_t key = 0;      // of all randomness of this image in this epoch: hash(seed, epoch, sample)
  int32_t label = 0;
};

// What is to be done with a row after decoding; the device does it (ops::prepare_batch).
struct Row {
  int32_t label = 0;
  uint64_t key = 0;
  int32_t partner = 0;  // row index in this batch whose image is mixed in; itself: none
  float lambda = 1;     // weight of the row's own label and, for mixup, of its own pixels
  bool blend = false;   // mixup: pixels are lambda * own + (1 - lambda) * partner's
  int32_t box[4] = {};  // cutmix: x0, y0, x1, y1 taken from the partner
  // Random erasing: x0, y0, x1, y1 of `erased` rectangles.
  int32_t erase[kMostErasures][4] = {};
  uint8_t erased = 0;
  EraseFill erase_fill = EraseFill::constant;
  // Evaluation only: the image could not be read; pixels are zero and do not count.
  bool unreadable = false;
};

// `capacity` rows of memory of which the first `count` are filled. Owned by the loader, valid until
// the next call of next() or start_epoch(), before which nobody may be reading it any more. Pixels
// are RGB.
struct Batch {
  uint8_t* images = nullptr;  // capacity×views×height×width×3
  std::span<const Row> rows;  // count
  int64_t capacity = 0;
  int64_t count = 0;  // < capacity only in evaluation's last batches; may be 0 there
  int64_t height = 0, width = 0;
  int64_t views = 1;           // images per row; above 1 in evaluation only
  int64_t first_position = 0;  // of row 0 in the global order
  // So many bytes behind the images of the `count` rows are the consumer's, unaligned, for what
  // shall go to a device with them; 0 unless the allocator asks for them.
  int64_t room = 0;
};

}  // namespace shoal::data
