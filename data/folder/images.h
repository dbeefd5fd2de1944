#pragma once
// Images without labels, from sources of any kind. For `shoal predict`.

#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace shoal::data {

// Opens all `sources`, in the given order, as one dataset without labels. A source is an image
// file, anything that open_dataset() accepts, or a folder that contains such files at any depth
// (read in the order of names). Leaves out other files in folders and patterns, and calls
// options.warning once. Only read() reports missing or damaged image files. Throws
// std::invalid_argument if a source has no image or is a pipe.
std::shared_ptr<const Dataset> open_images(const std::vector<std::string>& sources,
                                           OpenOptions options);

}  // namespace shoal::data
