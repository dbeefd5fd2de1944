#pragma once
// The texts of AugmentOptions, read and checked without the rest of data/.

#include <string>

#include "data/data_options.h"

namespace shoal::data::augment {

// How far the factors of brightness, contrast and saturation go to either side of 1, and the hue
// to either side of 0.
struct Jitter {
  double brightness = 0, contrast = 0, saturation = 0, hue = 0;
};
// "0.4" for the first three alike, "B,C,S" or "B,C,S,H". Throws std::invalid_argument with what the
// text must be.
Jitter parse_jitter(const std::string& text);

// Throws std::invalid_argument with a sentence for settings that make no sense.
void check_augment(const AugmentOptions& options);

}  // namespace shoal::data::augment
