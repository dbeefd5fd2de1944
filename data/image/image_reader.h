#pragma once
// Reads parts of encoded images of all supported formats. Recognizes the format by content.

#include <cstdint>
#include <span>
#include <vector>

#include "data/data_options.h"
#include "data/geometry.h"
#include "data/image/formats.h"
#include "data/jpeg/decoder.h"

namespace shoal::data {

// Reads one image after another. Use one object per thread. For every format, each function has
// the same contract and errors as in JpegDecoder (jpeg/decoder.h).
class ImageReader {
 public:
  explicit ImageReader(Decoder decoder = Decoder::shoal, Isa isa = best_isa())
      : jpeg_(decoder == Decoder::shoal, isa) {}

  // Reads the header and returns the size. `bytes` must stay valid while this image is decoded.
  // Throws DamagedImage for an empty file, an unknown format, a broken header or a size above
  // kMaxPixels.
  Size open(std::span<const uint8_t> bytes);
  // Like JpegDecoder::start(), but also throws MissingLibrary (formats.h).
  void start(const Box& box, int64_t padding, jpeg::SeekIndex* index = nullptr);
  RowBlock next();
  bool complete_index(jpeg::SeekIndex& index);  // false if the image is not a JPEG
  jpeg::Planes* planes();                       // null if the image is not a JPEG

 private:
  void start_raw(const Box& box, int64_t padding);

  JpegDecoder jpeg_;
  Format format_ = Format::unknown;
  std::span<const uint8_t> bytes_;
  std::vector<uint8_t> pixels_;  // raw format: the box; formats of OpenCV: the whole image
  Size size_;
  RowBlock pending_;
};

}  // namespace shoal::data
