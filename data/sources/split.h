#pragma once
// Divides a dataset into a training part and a validation part.

#include <cstdint>
#include <memory>
#include <string>

#include "data/dataset.h"

namespace shoal::data {

// Returns the key that decides to which part an image belongs: its path from the class folder on,
// CLASS/PATH. The key does not depend on where the dataset is, and is the same for tars and packed
// sets made from the folder. For an image without a class folder in its name (records, WebDataset
// shards), the key is FILE:NAME.
std::string split_key(const std::string& class_name, const std::string& name);

// Whether the image with this key is in the validation part. `share`: the fraction of images in
// that part. A pure function of key and share, so seed, world size and other images do not matter.
// The validation part for a smaller share is a subset of the one for a larger share.
bool is_held_out(const std::string& key, double share);

enum class Part { train, validation };

// Returns the images of `all` that belong to `part`, in their order, with the classes of `all`.
std::shared_ptr<const Dataset> part_of(std::shared_ptr<const Dataset> all, Part part, double share);

}  // namespace shoal::data
