#pragma once
// Images without labels, from sources of any kind. For `shoal predict`.

#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace shoal::data {

// Opens all `sources` as one dataset without labels, in their order. A source is an image file, or
// anything that open_dataset() accepts, or a folder of these at any depth, in the order of names.
// Leaves out other files in folders and patterns and calls options.warning once. A missing or
// damaged image file is reported only by read(). Throws std::invalid_argument if a source has no
// image or cannot be read in any order (a pipe).
std::shared_ptr<const Dataset> open_images(const std::vector<std::string>& sources,
                                           OpenOptions options);

}  // namespace shoal::data
