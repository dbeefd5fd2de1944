#pragma once
// Reads parts of encoded images of any format. Recognizes the format by content.

#include <cstdint>
#include <span>
#include <vector>

#include "data/data_options.h"
#include "data/geometry.h"
#include "data/image/formats.h"
#include "data/jpeg/decoder.h"

namespace shoal::data {

// Reads one image after the other. Use one object per thread. Has the functions of JpegDecoder
// (jpeg/decoder.h), with the same contracts and errors, for every format.
class ImageReader {
 public:
  explicit ImageReader(Decoder decoder = Decoder::shoal, Isa isa = best_isa())
      : jpeg_(decoder == Decoder::shoal, isa) {}

  // Reads the header and returns the size. Throws DamagedImage (an empty file, an unknown format, a
  // broken header, a size above kMaxPixels).
  Size open(std::span<const uint8_t> bytes);
  // As JpegDecoder::start(). Also throws MissingLibrary (formats.h).
  void start(const Box& box, int64_t padding, jpeg::SeekIndex* index = nullptr);
  RowBlock next();
  bool complete_index(jpeg::SeekIndex& index);  // see JpegDecoder
  jpeg::Planes* planes();                       // see JpegDecoder

 private:
  void start_raw(const Box& box, int64_t padding);

  JpegDecoder jpeg_;
  Format format_ = Format::unknown;
  std::span<const uint8_t> bytes_;
  std::vector<uint8_t> pixels_;  // the whole image, unless it is a JPEG
  Size size_;
  RowBlock pending_;
};

}  // namespace shoal::data
