#pragma once
// Images without labels, from sources of any kind: what `predict` looks at.

#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace shoal::data {

// Opens all `sources` as one dataset without labels, in their order. A source is an image file; a
// file, pattern or set that open_dataset() takes, labelled or not; or a folder of these at any depth,
// whose files come by name. In folders and patterns, files that are neither are left out:
// options.warning is told once for all. An image file that is missing or damaged is an error of
// read() alone. Throws std::invalid_argument when a source holds no image or cannot be read in any
// order (a pipe).
std::shared_ptr<const Dataset> open_images(const std::vector<std::string>& sources,
                                           OpenOptions options);

}  // namespace shoal::data
