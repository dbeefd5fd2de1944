#pragma once
// Decodes a part of a JPEG with libjpeg-turbo, and encodes JPEGs.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "data/geometry.h"

namespace shoal::data {

// Reads one image after another. Use one object per thread; it reuses its memory.
//
// Reads baseline, progressive and arithmetic-coded files in gray, YCbCr, RGB, CMYK and YCCK, and
// always returns RGB. Treats CMYK as inverted (as Adobe writes it) and converts it like Pillow.
// Ignores the Exif orientation, like torchvision's ImageFolder. Uses the accurate integer IDCT and
// smooth ("fancy") upsampling. The pixels of a part equal those of the whole decoded image. Every
// libjpeg warning that means lost data (premature end, bad codes, missing restart markers) counts
// as damage.
class TurboDecoder {
 public:
  TurboDecoder();
  ~TurboDecoder();
  TurboDecoder(const TurboDecoder&) = delete;
  TurboDecoder& operator=(const TurboDecoder&) = delete;

  // Reads the header. `bytes` must stay valid while this image is decoded. Throws DamagedImage.
  Size open(std::span<const uint8_t> bytes);

  // Prepares next() to return the pixels of `box` (inside the image, not empty). `padding` bytes
  // after each row will be readable, with any content. Throws DamagedImage.
  void start(const Box& box, int64_t padding);

  // Returns the next rows of the box, from the top. Returns 0 rows after the last row. The rows are
  // valid until the next call. The call that returns the last rows also checks that the file has an
  // end-of-image marker. Throws DamagedImage.
  RowBlock next();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Encodes height×width×3 RGB pixels and returns the file. `quality`: 1 … 100. `subsample`: whether
// chroma is 4:2:0; else it is 4:4:4. Throws std::runtime_error with libjpeg's reason.
std::vector<uint8_t> encode_jpeg(const uint8_t* pixels, Size size, int quality, bool subsample);

}  // namespace shoal::data
