#pragma once
// Parses and checks the texts of AugmentOptions, independently of the rest of data/.

#include <string>

#include "data/data_options.h"

namespace shoal::data::augment {

// Ranges of the jitter: factors within 1 ± value for brightness, contrast and saturation, a shift
// within ± value for hue.
struct Jitter {
  double brightness = 0, contrast = 0, saturation = 0, hue = 0;
};
// Parses "X" (for the first three), "B,C,S" or "B,C,S,H". Throws std::invalid_argument with the
// expected form.
Jitter parse_jitter(const std::string& text);

// Throws std::invalid_argument with a sentence for invalid settings.
void check_augment(const AugmentOptions& options);

}  // namespace shoal::data::augment
