#pragma once
// Divides a dataset into a training part and a validation part.

#include <cstdint>
#include <memory>
#include <string>

#include "data/dataset.h"

namespace shoal::data {

// The key that decides the part of an image: its path from the class folder on, CLASS/PATH. It does
// not depend on where the folder is, and is the same for tars and packed sets of it. For an image
// without a class folder in its name (records, WebDataset shards): FILE:NAME.
std::string split_key(const std::string& class_name, const std::string& name);

// Whether the image with this key is in the validation part. A pure function of key and share, so
// seed, world size and other images do not matter. The part for a smaller share is a subset of that
// for a larger one.
bool is_held_out(const std::string& key, double share);

enum class Part { train, validation };

// Returns the images of `all` that belong to `part`, in their order, with the classes of `all`.
std::shared_ptr<const Dataset> part_of(std::shared_ptr<const Dataset> all, Part part, double share);

}  // namespace shoal::data
