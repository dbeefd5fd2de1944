#pragma once
// Batches of images and labels, which the loader passes to the training loop.

#include <cstdint>
#include <span>

#include "data/data_options.h"

namespace shoal::data {

// Label and augmentation parameters of one row of a batch. The device applies the parameters to the
// decoded pixels (ops::prepare_batch). Rectangles are in pixels and exclude x1 and y1.
struct Row {
  int32_t label = 0;
  uint64_t key = 0;     // random key of the image
  int32_t partner = 0;  // index in the batch of the row to mix in; own index: nothing is mixed in
  float lambda = 1;     // weight of this row's label and, for mixup, of its pixels
  bool blend = false;   // mixup: the pixels become lambda * own + (1 - lambda) * partner's
  int32_t box[4] = {};  // cutmix: x0, y0, x1, y1 of the rectangle taken from the partner
  // Random erasing: x0, y0, x1, y1 of `erased` rectangles.
  int32_t erase[kMaxErasures][4] = {};
  uint8_t erased = 0;
  EraseFill erase_fill = EraseFill::constant;
  // Evaluation only: the image could not be read. The row's pixels are zero, and the results must
  // not include it.
  bool unreadable = false;
};

// Memory for `capacity` rows; the first `count` rows are filled. Owned by the loader, and valid
// until Loader::next() or Loader::start_epoch() is called or the loader is destroyed.
struct Batch {
  uint8_t* images = nullptr;  // capacity×views×height×width×channels
  std::span<const Row> rows;  // `count` rows
  int64_t capacity = 0;
  int64_t count = 0;  // below capacity only in the last batches of evaluation; may be 0 there
  int64_t height = 0, width = 0;
  int64_t views = 1;            // images per row; above 1 in evaluation only
  int64_t channels = 3;         // 3: RGB, 1: gray
  Normalization normalization;  // the consumer applies it to the pixels
  // Returns the size of one image (one view) in bytes.
  int64_t image_bytes() const { return height * width * channels; }
  int64_t first_position = 0;  // position of row 0 in the epoch's global order
  // Number of scratch bytes after the last row, unaligned, for data that is copied to the device
  // together with the images. 0 unless BufferAllocator::room_per_row is set.
  int64_t room = 0;
};

}  // namespace shoal::data
