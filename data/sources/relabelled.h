#pragma once
// A dataset under the classes of a larger set: those of all hosts, of the training images, of a model.

#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace shoal::data {

// The classes of several sets together, sorted. Where the classes of each are numbers from 0 on,
// the longest of the lists: a label is its number.
std::vector<std::string> united_classes(const std::vector<std::vector<std::string>>& lists);

// A dataset whose labels are places in `classes`, which must hold all of `source`'s. Where both are
// numbers from 0 on, a label stays what it is. Throws std::invalid_argument that names up to five
// classes that are not there; `whose` says in it whose `classes` are ("all hosts").
std::shared_ptr<const Dataset> with_classes(std::shared_ptr<const Dataset> source,
                                            std::vector<std::string> classes,
                                            const std::string& whose);

}  // namespace shoal::data
