#include "data/image/thumbnail.h"

#include <algorithm>
#include <cmath>

#include "data/image/resample.h"
#include "data/jpeg/turbo.h"

namespace shoal::data {
namespace {

constexpr int kQuality = 80;

}  // namespace

std::vector<uint8_t> thumbnail(const uint8_t* pixels, Size size, int64_t channels) {
  const double share = std::min(1.0, static_cast<double>(kThumbnailSide) /
                                         static_cast<double>(std::max(size.width, size.height)));
  const auto scaled = [share](int64_t side) {
    return std::max<int64_t>(1, std::llround(static_cast<double>(side) * share));
  };
  const Size to{scaled(size.width), scaled(size.height)};
  Resizer resizer;
  resizer.begin({size.width, to.width, 0, to.width, false},
                {size.height, to.height, 0, to.height, false}, Interpolation::bilinear);
  const int64_t stride = 3 * size.width;
  std::vector<uint8_t> rgb;
  rgb.reserve(static_cast<size_t>(stride * size.height + resizer.padding()));
  for (int64_t i = 0; i < size.width * size.height; ++i)
    for (int64_t c = 0; c < 3; ++c) rgb.push_back(pixels[channels * i + (channels == 3 ? c : 0)]);
  rgb.resize(rgb.capacity());
  resizer.push({rgb.data(), stride, size.height});
  std::vector<uint8_t> small(static_cast<size_t>(3 * to.width * to.height));
  resizer.finish(small.data(), 3 * to.width);
  return encode_jpeg(small.data(), to, kQuality, /*subsample=*/true);
}

}  // namespace shoal::data
