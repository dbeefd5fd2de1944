#include "data/image/raw_pixels.h"

#include <cstring>

#include "data/errors.h"
#include "data/limits.h"

namespace shoal::data {

std::vector<uint8_t> raw_image(const uint8_t* pixels, const Size& size) {
  const auto bytes = static_cast<size_t>(3 * size.width * size.height);
  const uint32_t sides[2] = {static_cast<uint32_t>(size.width), static_cast<uint32_t>(size.height)};
  std::vector<uint8_t> out(kRawHead + bytes);
  std::memcpy(out.data(), kRawMagic, 8);
  std::memcpy(out.data() + 8, sides, 8);
  std::memcpy(out.data() + kRawHead, pixels, bytes);
  return out;
}

Size raw_size(std::span<const uint8_t> bytes) {
  uint32_t sides[2] = {};
  if (bytes.size() >= kRawHead) std::memcpy(sides, bytes.data() + 8, 8);
  const Size size{sides[0], sides[1]};
  check_dimensions(size);
  if (static_cast<int64_t>(bytes.size()) - kRawHead != 3 * size.width * size.height)
    throw DamagedImage("raw pixels: the number of bytes does not match width and height");
  return size;
}

}  // namespace shoal::data
