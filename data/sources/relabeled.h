#pragma once
// Relabels a dataset for another list of classes: the classes of all hosts, of the training images
// or of a model.

#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace shoal::data {

// Returns the union of several lists of classes, sorted. If every list consists of the numbers 0,
// 1, 2, …, returns the longest list, so that labels keep their numbers.
std::vector<std::string> united_classes(const std::vector<std::vector<std::string>>& lists);

// Returns `source` with labels that are indices into `classes`, which must include all classes of
// `source`. If both lists consist of the numbers 0, 1, 2, …, labels keep their numbers. Throws
// std::invalid_argument naming up to five missing classes and `whose`, the owner of `classes` (such
// as "all hosts"). The message has no subject: the caller must put "classes of … are" before it.
std::shared_ptr<const Dataset> with_classes(std::shared_ptr<const Dataset> source,
                                            std::vector<std::string> classes,
                                            const std::string& whose);

// Converts numeric class names, such as ImageNet-V2's folders "0", "1", "10", …, to labels.
// Leading zeros are allowed. Returns an empty list unless all names are distinct numbers below
// `limit`.
std::vector<int32_t> numeric_labels(const std::vector<std::string>& names, int64_t limit);

// Returns `source` with other labels: images with the label i get the label labels[i], an index
// into `classes`.
std::shared_ptr<const Dataset> relabeled(std::shared_ptr<const Dataset> source,
                                         std::vector<std::string> classes,
                                         std::vector<int32_t> labels);

}  // namespace shoal::data
