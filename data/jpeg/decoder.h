#pragma once
// Decodes JPEGs: with shoal's own decoder if it can read the file, else with libjpeg-turbo. Both
// give the same pixels.

#include <cstdint>
#include <span>

#include "data/geometry.h"
#include "data/jpeg/baseline.h"
#include "data/jpeg/turbo.h"

namespace shoal::data {

// Reads one image after another. Use one object per thread. The pixels of a box are the same as if
// libjpeg-turbo had decoded the whole image with its defaults (see turbo.h).
class JpegDecoder {
 public:
  // `own`: whether to use shoal's own decoder. If not, decodes every image with libjpeg-turbo.
  explicit JpegDecoder(bool own = true, Isa isa = best_isa()) : own_(own), decoder_(isa) {}

  // Reads the header. `bytes` must stay valid while this image is decoded. Throws DamagedImage.
  Size open(std::span<const uint8_t> bytes);

  // Prepares next() to return the pixels of `box` (inside the image, not empty). `padding` bytes
  // after each row will be readable, with any content. `index`: see BaselineDecoder::start(); may
  // be null. Throws DamagedImage.
  void start(const Box& box, int64_t padding, jpeg::SeekIndex* index = nullptr);

  // Returns the next rows of the box, from the top; a count of 0 after the last row. The rows are
  // valid until the next call. Throws DamagedImage.
  RowBlock next();

  // After start(): the decoded YCbCr planes if shoal's own decoder reads this image, else null.
  jpeg::Planes* planes() { return baseline_ ? &decoder_.planes() : nullptr; }

  // Extends the index to the whole image. Call after the last row. Returns false if the image is
  // damaged or shoal's own decoder cannot read it.
  bool complete_index(jpeg::SeekIndex& index) { return baseline_ && decoder_.complete(index); }

 private:
  bool own_, baseline_ = false;
  std::span<const uint8_t> bytes_;
  int64_t padding_ = 0;
  jpeg::BaselineDecoder decoder_;
  TurboDecoder turbo_;
};

}  // namespace shoal::data
