#pragma once
// Recognizes image formats, and decodes all except JPEG and raw pixels with OpenCV.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/geometry.h"

namespace shoal::data {

enum class Format {
  jpeg,
  png,
  webp,
  bmp,
  tiff,
  pnm,  // binary: P4 (PBM), P5 (PGM), P6 (PPM)
  raw,  // raw_pixels.h
  unknown
};

// Returns the name for reports: "PNG", "raw pixels", "unknown".
const char* name_of(Format format);

// Recognizes the format by the first bytes of a file.
Format recognize(std::span<const uint8_t> bytes);

// Returns the image size from the header, so that the caller can reject a decompression bomb
// without decoding it. Throws DamagedImage for a truncated header, for a PNM with fewer bytes than
// its header states, and for JPEG, raw and unknown formats.
Size stated_size(Format format, std::span<const uint8_t> bytes);

// Decodes the whole image to RGB rows of 3 * width bytes and returns its size. Drops alpha, copies
// gray to all channels, keeps the high byte of 16-bit samples. In a PNM, instead scales all samples
// so that the largest value, stated in the header, becomes 255. Enlarges `pixels` if it is smaller
// than the image plus `padding` bytes. The first call loads libopencv_imgcodecs. Throws
// MissingLibrary if the library is not installed, DamagedImage if the bytes cannot be decoded or
// the image is too large (limits.h).
Size decode_other(Format format, std::span<const uint8_t> bytes, int64_t padding,
                  std::vector<uint8_t>& pixels);

}  // namespace shoal::data
