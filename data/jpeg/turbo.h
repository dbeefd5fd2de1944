#pragma once
// JPEG through libjpeg-turbo: only the part of an image that is asked for is decoded.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "data/image/geometry.h"

namespace shoal::data {

// Reads one image after the other; one object per thread, reused, so that buffers are.
//
// Baseline, progressive and arithmetic-coded; grey, YCbCr, RGB, CMYK and YCCK, always delivered as
// RGB. CMYK is taken as inverted (Adobe's way) and converted as Pillow does. The Exif orientation
// is ignored, as torchvision's ImageFolder does. The accurate integer IDCT and smooth ("fancy")
// upsampling: pixels are those of a decode of the whole image. Every warning of the library that
// means lost data (premature end, bad codes, missing restart markers) is damage.
class TurboDecoder {
 public:
  TurboDecoder();
  ~TurboDecoder();
  TurboDecoder(const TurboDecoder&) = delete;
  TurboDecoder& operator=(const TurboDecoder&) = delete;

  // Reads the header. `bytes` must stay until the image is done with. Throws DamagedImage.
  Size open(std::span<const uint8_t> bytes);

  // Prepares to deliver `box` (inside the image, not empty). `padding` bytes behind each row can
  // be read (they hold anything). Throws DamagedImage.
  void start(const Box& box, int64_t padding);

  // The next rows of the box, from the top; valid until the next call. The end of the box also
  // checks that the file ends as a JPEG must. Throws DamagedImage.
  RowBlock next();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

constexpr int64_t kLargestJpegSide = 65500;  // pixels, that libjpeg-turbo writes

// Encodes RGB pixels (width*height*3 bytes); for made-up images. 4:2:0 or 4:4:4.
std::vector<uint8_t> encode_jpeg(const uint8_t* pixels, Size size, int quality, bool subsample);

}  // namespace shoal::data
