#pragma once
// Reports images that two sets share, for pack and prepare.

#include <string>
#include <utility>
#include <vector>

#include "data/pack/fingerprints.h"

namespace shoal::app {

using NamePairs = std::vector<std::pair<std::string, std::string>>;

// Reads the images that were not hashed yet, on `threads` threads. Logs the number of images that
// both sets contain, and the names of the first ten. Returns the names of all: each pair is an
// image's name in `first` and its name in `second`. `what`: names both sets, "train and val".
NamePairs report_shared(const data::Fingerprints& first, const data::Fingerprints& second,
                        const std::string& what, int threads);

}  // namespace shoal::app
