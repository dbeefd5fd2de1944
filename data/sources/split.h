#pragma once
// A dataset divided into a training part and a validation part.

#include <cstdint>
#include <memory>
#include <string>

#include "data/dataset.h"

namespace shoal::data {

// What decides the part of an image: its path from its class folder on, CLASS/PATH. It is the same
// wherever the folder lies, and for tars and packed sets of it. An image whose name holds no class
// folder (records, WebDataset shards) has FILE:NAME.
std::string split_key(const std::string& class_name, const std::string& name);

// Whether the image of that key is in the validation part. A pure function of both: seed, world size
// and other images do not matter, and the part of a smaller share lies within that of a larger one.
bool is_held_out(const std::string& key, double share);

enum class Part { train, validation };

// The images of `all` that belong to `part`, in their order, with the classes of `all`.
std::shared_ptr<const Dataset> part_of(std::shared_ptr<const Dataset> all, Part part, double share);

}  // namespace shoal::data
