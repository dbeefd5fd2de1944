#pragma once
// Reports images that two sets share, for pack and prepare.

#include <string>
#include <utility>
#include <vector>

#include "data/pack/fingerprints.h"

namespace shoal::app {

using NamePairs = std::vector<std::pair<std::string, std::string>>;

// Hashes the images that were not read yet, on `threads` threads, and shows the progress.
void hash_images(const data::Fingerprints& images, int threads);

// Finds the images that both sets contain. Logs their number and the names of the first ten, and
// returns all names: each pair is an image's name in `first` and its name in `second`. Reads images
// that have no hash yet, on `threads` threads. Both sets must be made with Of::first_rows. Call
// only once per set, because this replaces the hashes (hash_pixels_of_shared()). `what` names both
// sets, such as "train and val".
NamePairs report_shared(const data::Fingerprints& first, const data::Fingerprints& second,
                        const std::string& what, int threads);

}  // namespace shoal::app
