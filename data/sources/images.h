#pragma once
// Images without labels, from sources of any kind. For `shoal predict`.

#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace shoal::data {

// Opens all `sources`, in the given order, as one dataset without labels. A source is an image
// file, anything that open_dataset() accepts, or a folder that contains such files at any depth
// (read in the order of names). Leaves out other files in folders and patterns, and reports them in
// one call of options.warning. The source "-" means the lines of `list`: each line is an image, a
// folder or a set, but no pattern; empty lines are ignored.
//
// read() throws DamagedImage for every image that is missing, damaged or unreadable.
// open_images() throws std::invalid_argument if a source has no image or is a pipe; for lines of
// `list` the message contains the line number. Throws std::runtime_error for system errors.
std::shared_ptr<const Dataset> open_images(const std::vector<std::string>& sources,
                                           OpenOptions options,
                                           const std::vector<std::string>& list = {});

}  // namespace shoal::data
