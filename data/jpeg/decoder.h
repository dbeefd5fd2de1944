#pragma once
// JPEG, by our own decoder where it can and by libjpeg-turbo where it cannot; nobody sees which.

#include <cstdint>
#include <span>

#include "data/image/geometry.h"
#include "data/jpeg/baseline.h"
#include "data/jpeg/turbo.h"

namespace shoal::data {

// Reads one image after the other; one object per thread. Pixels are those of a decode of the
// whole image by libjpeg-turbo with its defaults (turbo.h says more).
class JpegDecoder {
 public:
  // own: false leaves every image to libjpeg-turbo, for comparison.
  explicit JpegDecoder(bool own = true, Isa isa = best_isa()) : own_(own), decoder_(isa) {}

  // Reads the header. `bytes` must stay until the image is done with. Throws DamagedImage.
  Size open(std::span<const uint8_t> bytes);

  // Prepares to deliver `box` (inside the image, not empty). `padding` bytes behind each row can
  // be read (they hold anything). `index`: see BaselineDecoder::start(); may be null. Throws
  // DamagedImage.
  void start(const Box& box, int64_t padding, jpeg::SeekIndex* index = nullptr);

  // The next rows of the box, from the top; valid until the next call. Throws DamagedImage.
  RowBlock next();

  // After start(): the samples of the box, when our own decoder has made them, else null.
  jpeg::Planes* planes() { return baseline_ ? &decoder_.planes() : nullptr; }

  // After the last row: extends the index to the whole image. False when the image has none.
  bool complete_index(jpeg::SeekIndex& index) { return baseline_ && decoder_.complete(index); }

 private:
  bool own_, baseline_ = false;
  std::span<const uint8_t> bytes_;
  int64_t padding_ = 0;
  jpeg::BaselineDecoder decoder_;
  TurboDecoder turbo_;
};

}  // namespace shoal::data
