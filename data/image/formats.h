#pragma once
// Images that are not JPEG: PNG, WebP, BMP and TIFF, through OpenCV.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/image/geometry.h"

namespace shoal::data {

enum class Format { jpeg, png, webp, bmp, tiff, raw, unknown };  // raw: raw_pixels.h

// By the first bytes.
Format recognise(std::span<const uint8_t> bytes);

// The size that the header of a PNG, WebP, BMP or TIFF states, so that a bomb is refused before it
// is unpacked. Throws DamagedImage.
Size stated_size(Format format, std::span<const uint8_t> bytes);

// Decodes the whole image to RGB (alpha dropped, grey repeated, the high byte of 16 bits),
// `stride` bytes a row where stride = 3 * width; `pixels` keeps its capacity and gets `padding`
// bytes behind the last row. The decoders are opened at the first call (libopencv_imgcodecs, beside
// the OpenCV that is linked). Throws MissingLibrary where that library is not installed,
// DamagedImage where the bytes are no image.
Size decode_other(Format format, std::span<const uint8_t> bytes, int64_t padding,
                  std::vector<uint8_t>& pixels);

}  // namespace shoal::data
