#pragma once
// Relabels a dataset with the classes of a larger set: of all hosts, the training images or a model.

#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace shoal::data {

// Returns the union of several lists of classes, sorted. If all lists are numbers from 0 on, returns
// the longest list, so that labels keep their numbers.
std::vector<std::string> united_classes(const std::vector<std::vector<std::string>>& lists);

// Returns `source` with labels that are indices into `classes`, which must include all classes of
// `source`. If both lists are numbers from 0 on, labels keep their numbers. Throws
// std::invalid_argument naming up to five missing classes and `whose`, the owner of `classes`
// ("all hosts").
std::shared_ptr<const Dataset> with_classes(std::shared_ptr<const Dataset> source,
                                            std::vector<std::string> classes,
                                            const std::string& whose);

}  // namespace shoal::data
