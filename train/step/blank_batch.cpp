#include "train/step/blank_batch.h"

#include <limits>

#include "train/step/input.h"

namespace shoal::train {

BlankBatch::BlankBatch(int64_t images_per_row, int64_t channels)
    : rows_(static_cast<size_t>(2 * images_per_row)) {
  constexpr int64_t kSide = 64;  // pixels; may differ from the image size of other ranks
  const int64_t count = 2 * images_per_row;
  batch_.height = batch_.width = kSide;
  batch_.channels = channels;
  for (int64_t i = 0; i < count; ++i) {
    data::Row& row = rows_[static_cast<size_t>(i)];
    row.partner = static_cast<int32_t>((i + images_per_row) % count);
    row.lambda = std::numeric_limits<float>::quiet_NaN();  // label weight; makes the loss NaN
  }
  batch_.room = count * room_per_row();
  memory_.resize(static_cast<size_t>(count * batch_.image_bytes() + batch_.room));
  batch_.images = memory_.data();
  batch_.rows = rows_;
  batch_.capacity = batch_.count = count;
}

}  // namespace shoal::train
