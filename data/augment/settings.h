#pragma once
// Parses the color jitter and checks AugmentOptions.

#include <string>

#include "data/data_options.h"

namespace shoal::data::augment {

// Ranges of the color jitter. Brightness, contrast and saturation: factors from 1 - value (at least
// 0) to 1 + value. Hue: shifts from -value to value, as fractions of the color circle.
struct Jitter {
  double brightness = 0, contrast = 0, saturation = 0, hue = 0;
};
// Parses "X" (one value for brightness, contrast and saturation), "B,C,S" or "B,C,S,H". Throws
// std::invalid_argument whose message describes the expected text and does not name the option.
Jitter parse_jitter(const std::string& text);

// Throws std::invalid_argument for invalid settings.
void check_augment(const AugmentOptions& options);

}  // namespace shoal::data::augment
