// Fuzzes the headers of all image formats.
#include "data/image/formats.h"

#include <cstdint>

#include "data/errors.h"
#include "data/image/raw_pixels.h"
#include "data/jpeg/header.h"

using namespace shoal::data;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const uint8_t> bytes(data, size);
  jpeg::read_header(bytes);
  try {
    const Format format = recognize(bytes);
    if (format == Format::raw)
      raw_size(bytes);
    else if (format != Format::unknown && format != Format::jpeg)
      stated_size(format, bytes);
  } catch (const DamagedImage&) {
  }
  return 0;
}
