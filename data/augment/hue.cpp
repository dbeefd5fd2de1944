#include "data/augment/hue.h"

#include <algorithm>
#include <cmath>

namespace shoal::data::augment {
namespace {

struct Hsv {
  uint8_t hue, saturation, value;
};

uint8_t clipped(int level) {
  return static_cast<uint8_t>(std::clamp(level, 0, 255));
}

Hsv to_hsv(const uint8_t* rgb) {
  const uint8_t high = std::max({rgb[0], rgb[1], rgb[2]}), low = std::min({rgb[0], rgb[1], rgb[2]});
  if (high == low) return {0, 0, high};
  const auto range = static_cast<float>(high - low);
  const float saturation = range / static_cast<float>(high);
  const float red = static_cast<float>(high - rgb[0]) / range;
  const float green = static_cast<float>(high - rgb[1]) / range;
  const float blue = static_cast<float>(high - rgb[2]) / range;
  const auto sixths = static_cast<float>(rgb[0] == high   ? blue - green
                                         : rgb[1] == high ? 2.0 + red - blue
                                                          : 4.0 + green - red);
  const auto hue = static_cast<float>(std::fmod(sixths / 6.0 + 1.0, 1.0));
  return {clipped(static_cast<int>(hue * 255.0)), clipped(static_cast<int>(saturation * 255.0)),
          high};
}

void to_rgb(const Hsv& hsv, uint8_t* rgb) {
  if (hsv.saturation == 0) {
    rgb[0] = rgb[1] = rgb[2] = hsv.value;
    return;
  }
  const double sixths = static_cast<float>(hsv.hue) * 6.0 / 255.0;
  const int sector = static_cast<int>(std::floor(sixths));
  const auto part = static_cast<float>(sixths - sector);
  const auto saturation = static_cast<float>(hsv.saturation / 255.0);
  const auto value = static_cast<float>(hsv.value);
  const uint8_t v = hsv.value;
  const uint8_t p = clipped(static_cast<int>(std::round(value * (1.0 - saturation))));
  const uint8_t q = clipped(static_cast<int>(std::round(value * (1.0 - saturation * part))));
  const uint8_t t =
      clipped(static_cast<int>(std::round(value * (1.0 - saturation * (1.0 - part)))));
  const uint8_t colors[6][3] = {{v, t, p}, {q, v, p}, {p, v, t}, {p, q, v}, {t, p, v}, {v, p, q}};
  std::copy_n(colors[sector % 6], 3, rgb);
}

}  // namespace

void shift_hue(double share, uint8_t* pixels, int64_t count) {
  const auto shift = static_cast<uint8_t>(static_cast<int>(share * 255));
  for (int64_t i = 0; i < count; ++i, pixels += 3) {
    Hsv hsv = to_hsv(pixels);
    hsv.hue = static_cast<uint8_t>(hsv.hue + shift);
    to_rgb(hsv, pixels);
  }
}

}  // namespace shoal::data::augment
