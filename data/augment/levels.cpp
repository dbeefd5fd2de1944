#include "data/augment/levels.h"

#include <algorithm>
#include <cmath>

namespace shoal::data::augment {
namespace {

double either_sign(double x, KeyedRandom& random) {
  return random.uniform() < 0.5 ? -x : x;
}

// Returns element `bin` of torch.linspace(low, high, bins). Computes it as torch does: in single
// precision, with fused multiply-add, starting from the nearer end.
double linspace(float low, float high, int64_t bins, int64_t bin) {
  const float step = (high - low) / static_cast<float>(bins - 1);
  if (bin < bins / 2) return std::fma(step, static_cast<float>(bin), low);
  return std::fma(-step, static_cast<float>(bins - 1 - bin), high);
}

int whole(double x) {
  return static_cast<int>(x);
}

}  // namespace

Operation timm_operation(Level level, double magnitude, const TimmScene& scene,
                         KeyedRandom& random) {
  const double share = magnitude / 10;
  const double factor = share * 1.8 + 0.1;
  const auto away = [&] { return std::max(0.1, 1 + either_sign(share * 0.9, random)); };
  const auto affine = [&](Effect effect, double amount) {
    return Operation{effect, either_sign(amount, random), scene.sampling, scene.fill};
  };
  switch (level) {
    case Level::auto_contrast:
      return {Effect::auto_contrast};
    case Level::equalize:
      return {Effect::equalize};
    case Level::invert:
      return {Effect::invert};
    case Level::rotate:
      return affine(Effect::rotate, share * 30);
    case Level::posterize:
      return {Effect::posterize, static_cast<double>(whole(share * 4))};
    case Level::posterize_increasing:
      return {Effect::posterize, static_cast<double>(std::max(0, 4 - whole(share * 4)))};
    case Level::posterize_original:
      return {Effect::posterize, static_cast<double>(std::min(8, whole(share * 4) + 4))};
    case Level::solarize:
      return {Effect::solarize, static_cast<double>(std::min(256, whole(share * 256)))};
    case Level::solarize_increasing:
      return {Effect::solarize, static_cast<double>(256 - std::min(256, whole(share * 256)))};
    case Level::solarize_add:
      return {Effect::solarize_add, static_cast<double>(std::min(128, whole(share * 110)))};
    case Level::color:
      return {Effect::color, factor};
    case Level::color_increasing:
      return {Effect::color, away()};
    case Level::contrast:
      return {Effect::contrast, factor};
    case Level::contrast_increasing:
      return {Effect::contrast, away()};
    case Level::brightness:
      return {Effect::brightness, factor};
    case Level::brightness_increasing:
      return {Effect::brightness, away()};
    case Level::sharpness:
      return {Effect::sharpness, factor};
    case Level::sharpness_increasing:
      return {Effect::sharpness, away()};
    case Level::shear_x:
      return affine(Effect::shear_x, share * 0.3);
    case Level::shear_y:
      return affine(Effect::shear_y, share * 0.3);
    case Level::translate_x:
      return affine(Effect::translate_x,
                    share * scene.translate * static_cast<double>(scene.size.width));
    case Level::translate_y:
      return affine(Effect::translate_y,
                    share * scene.translate * static_cast<double>(scene.size.height));
    case Level::desaturate:
      return {Effect::color, 1 - std::clamp(0.5 + 0.5 * share, 0.5, 1.0)};
    case Level::gaussian_blur:
      return {Effect::box_blur, std::clamp(0.1 + 1.9 * share, 0.1, 2.0)};
    case Level::gaussian_blur_random:
      return {Effect::box_blur, random.uniform(0.1, 2 * std::clamp(share, 0.0, 1.0))};
  }
  return {};
}

Operation torchvision_operation(Effect effect, int64_t bin, int64_t bins, Range range,
                                const Size& size, Sampling sampling, KeyedRandom& random) {
  const bool wide = range == Range::wide;
  const auto up_to = [&](double most) { return linspace(0, static_cast<float>(most), bins, bin); };
  const auto sign = [&](double amount) { return either_sign(amount, random); };
  const auto moved = [&](int64_t side) {  // truncates to whole pixels, like torchvision
    return sign(std::trunc(up_to(wide ? 32 : 150.0 / 331.0 * static_cast<double>(side))));
  };
  switch (effect) {
    case Effect::shear_x:
    case Effect::shear_y:
      return {effect, sign(up_to(wide ? 0.99 : 0.3)), sampling};
    case Effect::translate_x:
      return {effect, moved(size.width), sampling};
    case Effect::translate_y:
      return {effect, moved(size.height), sampling};
    case Effect::rotate:
      return {effect, sign(up_to(wide ? 135 : 30)), sampling};
    case Effect::brightness:
    case Effect::color:
    case Effect::contrast:
    case Effect::sharpness:
      return {effect, 1 + sign(up_to(wide ? 0.99 : 0.9))};
    case Effect::posterize:
      return {effect, 8 - std::nearbyint(up_to(wide ? 6 : 4))};
    case Effect::solarize:
      return {effect, linspace(255, 0, bins, bin)};
    default:
      return {effect};
  }
}

}  // namespace shoal::data::augment
