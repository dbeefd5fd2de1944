#include "data/jpeg/decoder.h"

#include "data/limits.h"

namespace shoal::data {

Size JpegDecoder::open(std::span<const uint8_t> bytes) {
  bytes_ = bytes;
  baseline_ = own_ && decoder_.open(bytes);
  if (!baseline_) return turbo_.open(bytes);
  check_dimensions(decoder_.size());
  return decoder_.size();
}

void JpegDecoder::start(const Box& box, int64_t padding, jpeg::SeekIndex* index) {
  padding_ = padding;
  if (baseline_ && decoder_.start(box, index)) return;
  if (baseline_) turbo_.open(bytes_);
  baseline_ = false;
  turbo_.start(box, padding);
}

RowBlock JpegDecoder::next() {
  return baseline_ ? decoder_.next(padding_) : turbo_.next();
}

}  // namespace shoal::data
