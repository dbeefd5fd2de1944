#include "data/augment/settings.h"

#include <charconv>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "data/augment/policy.h"

namespace shoal::data::augment {

Jitter parse_jitter(const std::string& text) {
  std::vector<double> values;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (bool more = true; more;) {
    double value = 0;
    const auto [last, error] = std::from_chars(at, end, value);
    const bool good = error == std::errc() && std::isfinite(value) && value >= 0;
    more = good && last != end && *last == ',';
    if (!good || (last != end && !more) || values.size() == 4)
      throw std::invalid_argument(
          "one number, or three or four separated by commas, all 0 or more: brightness, contrast, "
          "saturation, hue");
    values.push_back(value);
    at = last + 1;
  }
  if (values.size() == 1) values.resize(3, values[0]);
  if (values.size() == 2 || (values.size() == 4 && values[3] > 0.5))
    throw std::invalid_argument(
        values.size() == 2 ? "one number, or three or four: brightness, contrast, saturation, hue"
                           : "B,C,S,H with a hue H of at most 0.5");
  return {values[0], values[1], values[2], values.size() == 4 ? values[3] : 0};
}

void check_augment(const AugmentOptions& options) {
  parse_policy(options.policy);
  parse_jitter(options.color_jitter);
  for (const double p : {options.grayscale, options.gaussian_blur, options.solarize})
    if (!(p >= 0 && p <= 1))
      throw std::invalid_argument(
          "the probabilities of gray, blurred and solarized images must be between 0 and 1");
}

}  // namespace shoal::data::augment
