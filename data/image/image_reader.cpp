#include "data/image/image_reader.h"

#include <cstring>

#include "base/grow.h"
#include "data/errors.h"
#include "data/image/raw_pixels.h"
#include "data/limits.h"

namespace shoal::data {

Size ImageReader::open(std::span<const uint8_t> bytes) {
  if (bytes.empty()) throw DamagedImage("the file is empty");
  bytes_ = bytes;
  pending_ = {};
  format_ = recognize(bytes);
  size_ = format_ == Format::jpeg  ? jpeg_.open(bytes)
          : format_ == Format::raw ? raw_size(bytes)
                                   : stated_size(format_, bytes);
  check_dimensions(size_);
  return size_;
}

void ImageReader::start(const Box& box, int64_t padding, jpeg::SeekIndex* index) {
  if (format_ == Format::jpeg) return jpeg_.start(box, padding, index);
  if (format_ == Format::raw) return start_raw(box, padding);
  const Size found = decode_other(format_, bytes_, padding, pixels_);
  if (found.width != size_.width || found.height != size_.height)
    throw DamagedImage("its header and its pixels disagree about the size");
  const int64_t stride = 3 * size_.width;
  pending_ = {pixels_.data() + box.top * stride + 3 * box.left, stride, box.height};
}

// Copies the box, because `padding` bytes after its last row must be readable.
void ImageReader::start_raw(const Box& box, int64_t padding) {
  const int64_t stride = 3 * size_.width, row = 3 * box.width;
  const auto need = static_cast<size_t>(row * box.height + padding);
  grow(pixels_, need);
  const uint8_t* const from = bytes_.data() + kRawHead + box.top * stride + 3 * box.left;
  for (int64_t y = 0; y < box.height; ++y)
    std::memcpy(pixels_.data() + y * row, from + y * stride, static_cast<size_t>(row));
  pending_ = {pixels_.data(), row, box.height};
}

bool ImageReader::complete_index(jpeg::SeekIndex& index) {
  return format_ == Format::jpeg && jpeg_.complete_index(index);
}

jpeg::Planes* ImageReader::planes() {
  return format_ == Format::jpeg ? jpeg_.planes() : nullptr;
}

RowBlock ImageReader::next() {
  if (format_ == Format::jpeg) return jpeg_.next();
  const RowBlock all = pending_;
  pending_ = {};
  return all;
}

}  // namespace shoal::data
