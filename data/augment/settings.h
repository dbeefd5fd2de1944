#pragma once
// Parses the color jitter and checks AugmentOptions.

#include <string>

#include "data/data_options.h"

namespace shoal::data::augment {

// Ranges of the color jitter. Brightness, contrast and saturation: factors within 1 ± value. Hue:
// shift within ± value, as a fraction of the color circle.
struct Jitter {
  double brightness = 0, contrast = 0, saturation = 0, hue = 0;
};
// Parses "X" (brightness, contrast and saturation), "B,C,S" or "B,C,S,H". Throws
// std::invalid_argument whose message is the expected form, without the name of the option.
Jitter parse_jitter(const std::string& text);

// Throws std::invalid_argument for invalid settings.
void check_augment(const AugmentOptions& options);

}  // namespace shoal::data::augment
