#pragma once
// The pictures of one host among hosts that hold different ones: with the classes of all of them.

#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace shoal::data {

// The classes of several sets together, sorted. Where the classes of each are numbers from 0 on,
// the longest of the lists: a label is its number.
std::vector<std::string> united_classes(const std::vector<std::vector<std::string>>& lists);

// A dataset whose labels are places in `classes`, which must hold all of `source`'s.
std::shared_ptr<const Dataset> with_classes(std::shared_ptr<const Dataset> source,
                                            std::vector<std::string> classes);

}  // namespace shoal::data
