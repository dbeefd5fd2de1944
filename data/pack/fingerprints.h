#pragma once
// Finds images that two datasets share, such as the training and the validation images.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "data/dataset.h"

namespace shoal::data {

// Remembers a 64-bit hash of each image that is read.
class Fingerprints final : public ForwardingDataset {
 public:
  // What is hashed. pixels: the size and all pixels; takes as long as decoding. first_rows: the
  // size and the first 32 rows; takes about a tenth of that for a JPEG.
  enum class Of { first_rows, pixels };

  Fingerprints(std::shared_ptr<const Dataset> images, Of of);

  // Also hashes the image. Throws MissingLibrary only for Of::pixels; with Of::first_rows, an image
  // that only a missing library could decode gets no hash.
  void read(int64_t sample, std::vector<uint8_t>& bytes) const override;

  // Reads the images that were not read yet. Ignores those that cannot be read or decoded. Calls
  // `progress` every 1000 images with the number done: from any thread, one call at a time.
  void complete(int threads, const std::function<void(int64_t)>& progress = {}) const;

  // Returns the hash of an image; 0 if it was not read, or could not be decoded.
  uint64_t of(int64_t sample) const { return prints_[static_cast<size_t>(sample)]; }
  int64_t without_hash() const;  // number of images whose hash is 0

  // For each image whose hash of the first rows occurs in both sets, reads the image again and
  // replaces this hash by the hash of all pixels. Sets all other hashes to 0.
  static void hash_pixels_of_shared(const Fingerprints& first, const Fingerprints& second,
                                    int threads);

 private:
  void hash_pixels_of(const std::unordered_set<uint64_t>& hashes, int threads) const;

  Of of_;
  // One hash per image, written by the thread that reads the image.
  mutable std::vector<uint64_t> prints_;
};

// Returns a pair (sample of `first`, sample of `second`) for each image of `second` whose hash
// occurs in `first`, in the order of `second`. If the hash occurs several times in `first`, the
// pair contains the first of these samples. Both must contain hashes of pixels.
std::vector<std::pair<int64_t, int64_t>> shared_images(const Fingerprints& first,
                                                       const Fingerprints& second);

}  // namespace shoal::data
