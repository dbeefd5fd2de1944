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
// options.warning once. The source "-" stands for the lines of `list`: images, folders and sets, no
// patterns; empty lines do not count. read() throws DamagedImage for every image that is missing,
// damaged or cannot be read. Throws std::invalid_argument if a source has no image or is a pipe;
// the message names the line of the list.
std::shared_ptr<const Dataset> open_images(const std::vector<std::string>& sources,
                                           OpenOptions options,
                                           const std::vector<std::string>& list = {});

}  // namespace shoal::data
