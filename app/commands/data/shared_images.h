#pragma once
// Reports images that two sets share, for pack and prepare.

#include <string>
#include <utility>
#include <vector>

#include "data/pack/fingerprints.h"

namespace shoal::app {

using NamePairs = std::vector<std::pair<std::string, std::string>>;

// Reads the images that were not hashed yet, on `threads` threads, and logs how many images both
// sets have, with the names of the first ten. `what`: names both sets, such as "train and val".
// Returns the names of all of them: in `first` and in `second`.
NamePairs report_shared(const data::Fingerprints& first, const data::Fingerprints& second,
                        const std::string& what, int threads);

}  // namespace shoal::app
