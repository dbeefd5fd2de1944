#include "data/image/crop.h"

#include <algorithm>
#include <cmath>

namespace shoal::data {
namespace {

// Rounds halves to even, like Python's round().
int64_t round_even(double x) {
  return static_cast<int64_t>(std::nearbyint(x));
}

// Computes one direction of torchvision's CenterCrop: pixels [first, first + count) of a source of
// `have` pixels go to position `at` of an output of `want` pixels.
void center(int64_t have, int64_t want, int64_t& first, int64_t& count, int64_t& at) {
  at = want > have ? (want - have) / 2 : 0;
  first = want > have ? 0 : round_even(static_cast<double>(have - want) / 2.0);
  count = std::min(have, want);
}

}  // namespace

Box random_resized_crop(const Size& image, const TransformOptions& options, KeyedRandom& random) {
  const auto area = static_cast<double>(image.width * image.height);
  const double log_low = std::log(options.ratio_min), log_high = std::log(options.ratio_max);
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double target = area * random.uniform(options.scale_min, options.scale_max);
    const double ratio = std::exp(random.uniform(log_low, log_high));
    const int64_t width = round_even(std::sqrt(target * ratio));
    const int64_t height = round_even(std::sqrt(target / ratio));
    if (width <= 0 || height <= 0 || width > image.width || height > image.height) continue;
    const auto top = random.below(static_cast<uint64_t>(image.height - height + 1));
    const auto left = random.below(static_cast<uint64_t>(image.width - width + 1));
    return {static_cast<int64_t>(left), static_cast<int64_t>(top), width, height};
  }
  const double ratio = static_cast<double>(image.width) / static_cast<double>(image.height);
  int64_t width = image.width, height = image.height;
  if (ratio < options.ratio_min)
    height = round_even(static_cast<double>(width) / options.ratio_min);
  else if (ratio > options.ratio_max)
    width = round_even(static_cast<double>(height) * options.ratio_max);
  width = std::clamp<int64_t>(width, 1, image.width);
  height = std::clamp<int64_t>(height, 1, image.height);
  return {(image.width - width) / 2, (image.height - height) / 2, width, height};
}

CenterView center_view(const Size& image, const TransformOptions& options, int64_t corner) {
  CenterView view;
  const int64_t side = options.eval_resize;
  if (image.width <= image.height)
    view.resized = {side, side * image.height / image.width};
  else
    view.resized = {side * image.width / image.height, side};
  center(view.resized.width, options.eval_size, view.crop.left, view.crop.width, view.left);
  center(view.resized.height, options.eval_size, view.crop.top, view.crop.height, view.top);
  if (corner > 0) {
    view.crop.left = corner % 2 == 1 ? 0 : view.resized.width - view.crop.width;
    view.crop.top = corner <= 2 ? 0 : view.resized.height - view.crop.height;
  }
  return view;
}

}  // namespace shoal::data
