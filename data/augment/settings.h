#pragma once
// Parses and checks the text fields of AugmentOptions, independently of the rest of data/.

#include <string>

#include "data/data_options.h"

namespace shoal::data::augment {

// Ranges of the color jitter. Brightness, contrast and saturation: factors within 1 ± value. Hue:
// shift within ± value, as a fraction of the color circle.
struct Jitter {
  double brightness = 0, contrast = 0, saturation = 0, hue = 0;
};
// Parses "X" (brightness, contrast and saturation), "B,C,S" or "B,C,S,H". Throws
// std::invalid_argument with the expected form.
Jitter parse_jitter(const std::string& text);

// Throws std::invalid_argument with a sentence for invalid settings.
void check_augment(const AugmentOptions& options);

}  // namespace shoal::data::augment
