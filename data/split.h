#pragma once
// Divides a dataset into a training part and a validation part, and takes a portion of a dataset.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace shoal::data {

// Returns the key that decides to which part an image belongs: its path from the class folder on,
// CLASS/PATH. The key does not depend on where the dataset is, and is the same for tars, zips and
// packed sets made from the folder. For an image without a class folder in its name (records,
// WebDataset shards), the key is FILE:NAME. For images of a dataset, call Dataset::key() instead:
// it ignores the folders above the dataset, which could have the name of a class.
std::string split_key(const std::string& class_name, const std::string& name);

// Like split_key(), but returns all of `path` if it has no class folder. Call it for separate image
// files, because several folders may contain files of the same name.
std::string split_key_of_path(const std::string& class_name, const std::string& path);

// `key_hash`: hash_bytes() of an image's key. Returns whether this image is in the validation part,
// which has about `share` of all images. (If this is true for all images of a class, part_of()
// keeps one of them for training.) Seed, world size and other images do not matter. The validation
// part for a smaller share is a subset of the one for a larger share.
bool is_held_out(uint64_t key_hash, double share);

enum class Part { train, validation };

// Replaces each element with its largest value on all hosts that have images of the dataset.
using LargestOnHosts = std::function<void(std::vector<uint64_t>&)>;

// Returns the images of `all` that belong to `part`, in their order, with the classes of `all`. If
// is_held_out() is true for all images of a class, the image with the largest hash stays in the
// training part. Hosts that have different images need `largest_on_hosts`, because that image may
// be on another host.
std::shared_ptr<const Dataset> part_of(std::shared_ptr<const Dataset> all, Part part, double share,
                                       const LargestOnHosts& largest_on_hosts = {});

// Returns `portion` of the images of `all`, in their order, with the classes of `all`. Sorts the
// images of each class by a hash of Dataset::key(), independent of is_held_out(), and takes the
// first ones. So the listing's order, the seed, the world size and other classes do not matter, and
// a smaller portion is a subset of a larger one.
std::shared_ptr<const Dataset> portion_of(std::shared_ptr<const Dataset> all,
                                          const Portion& portion);

}  // namespace shoal::data
