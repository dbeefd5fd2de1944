#include "data/picture.h"

#include "data/errors.h"
#include "data/limits.h"

namespace shoal::data {

Size PictureReader::open(std::span<const uint8_t> bytes) {
  if (bytes.empty()) throw DamagedPicture("the file is empty");
  bytes_ = bytes;
  pending_ = {};
  format_ = recognise(bytes);
  size_ = format_ == Format::jpeg ? jpeg_.open(bytes) : stated_size(format_, bytes);
  check_dimensions(size_);
  return size_;
}

void PictureReader::start(const Box& box, int64_t padding) {
  if (format_ == Format::jpeg) return jpeg_.start(box, padding);
  const Size found = decode_other(format_, bytes_, padding, pixels_);
  if (found.width != size_.width || found.height != size_.height)
    throw DamagedPicture("its header and its pixels disagree about the size");
  const int64_t stride = 3 * size_.width;
  pending_ = {pixels_.data() + box.top * stride + 3 * box.left, stride, box.height};
}

RowBlock PictureReader::next() {
  if (format_ == Format::jpeg) return jpeg_.next();
  const RowBlock all = pending_;
  pending_ = {};
  return all;
}

}  // namespace shoal::data
