#include "data/records/tensor_image.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "data/errors.h"
#include "data/image/raw_pixels.h"

namespace shoal::data {
namespace {

template <class T>
std::vector<uint8_t> levels(std::span<const uint8_t> tensor, const ExampleKeys& keys) {
  const int64_t pixels = keys.height * keys.width;
  if (static_cast<int64_t>(tensor.size()) !=
      pixels * keys.channels * static_cast<int64_t>(sizeof(T)))
    throw DamagedImage("a tensor of " + std::to_string(tensor.size()) +
                       " bytes does not match raw and shape in --tfrecord-keys");
  std::vector<uint8_t> out(static_cast<size_t>(3 * pixels));
  for (int64_t i = 0; i < 3 * pixels; ++i) {
    const int64_t pixel = i / 3, channel = keys.channels == 1 ? 0 : i % 3;
    const int64_t place = keys.planar ? channel * pixels + pixel : pixel * keys.channels + channel;
    T value;
    std::memcpy(&value, tensor.data() + place * static_cast<int64_t>(sizeof(T)), sizeof value);
    const double level = static_cast<double>(value) * keys.scale;
    out[static_cast<size_t>(i)] =
        static_cast<uint8_t>(level > 0 ? std::min(std::round(level), 255.0) : 0);  // NaN becomes 0
  }
  return out;
}

}  // namespace

std::vector<uint8_t> image_of_tensor(std::span<const uint8_t> tensor, const ExampleKeys& keys) {
  const std::vector<uint8_t> pixels =
      keys.raw == ExampleKeys::Raw::uint8     ? levels<uint8_t>(tensor, keys)
      : keys.raw == ExampleKeys::Raw::float32 ? levels<float>(tensor, keys)
                                              : levels<double>(tensor, keys);
  return raw_image(pixels.data(), {keys.width, keys.height});
}

}  // namespace shoal::data
