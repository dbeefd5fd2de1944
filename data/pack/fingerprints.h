#pragma once
// Finds images that two datasets share, such as the training and the validation images.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "data/dataset.h"

namespace shoal::data {

// Remembers a 64-bit hash of each image that is read.
class Fingerprints final : public ForwardingDataset {
 public:
  // What is hashed. bytes: the encoded image, which costs almost nothing and finds only copies of
  // files. pixels: the decoded image, which takes as long as decoding and also finds images that
  // were stored again without loss, such as a PNG of a BMP or a JPEG with other metadata.
  enum class Of { bytes, pixels };

  Fingerprints(std::shared_ptr<const Dataset> images, Of of);

  void read(int64_t sample, std::vector<uint8_t>& bytes) const override;

  // Reads the images that were not read yet. Ignores those that cannot be read. Calls `progress`
  // every 1000 images with the number done: from any thread, one call at a time.
  void complete(int threads, const std::function<void(int64_t)>& progress = {}) const;

  // Returns the hash of an image; 0 if it was not read or is damaged.
  uint64_t of(int64_t sample) const { return prints_[static_cast<size_t>(sample)]; }

 private:
  Of of_;
  // One per image. Each is written by the thread that reads the image.
  mutable std::vector<uint64_t> prints_;
};

// Returns the pairs of images with equal hashes: each image of `second` with the first one of
// `first` that equals it, in the order of `second`. Both must hash the same.
std::vector<std::pair<int64_t, int64_t>> shared_images(const Fingerprints& first,
                                                       const Fingerprints& second);

}  // namespace shoal::data
