// Fuzzes seek indexes: unpacks them, packs them again, and decodes a JPEG with them.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "data/jpeg/baseline.h"
#include "data/jpeg/index_codec.h"
#include "data/jpeg/turbo.h"

using namespace shoal::data;

namespace {

std::vector<uint8_t> image() {
  std::vector<uint8_t> pixels(200 * 40 * 3);
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint8_t>(i * i >> 7);
  return encode_jpeg(pixels.data(), {200, 40}, 80, false);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::vector<uint8_t> file = image();
  static jpeg::BaselineDecoder decoder;
  jpeg::SeekIndex index, again;
  if (!jpeg::unpack_index({data, size}, index)) return 0;
  const std::string packed = jpeg::pack_index(index);
  if (!jpeg::unpack_index({reinterpret_cast<const uint8_t*>(packed.data()), packed.size()},
                          again) ||
      index != again)
    std::abort();
  if (!decoder.open(file)) std::abort();
  if (!decoder.start({70, 9, 100, 20}, &index)) return 0;
  for (RowBlock rows = decoder.next(64); rows.count > 0; rows = decoder.next(64)) {
  }
  return 0;
}
