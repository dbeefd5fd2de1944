#pragma once
// Decodes all images of a dataset and describes them. For `shoal check`.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "data/geometry.h"
#include "data/pack/fingerprints.h"

namespace shoal::data {

struct DamagedSample {
  int64_t sample = 0;
  std::string reason;  // does not name the image
};

struct DatasetCheck {
  std::vector<DamagedSample> damaged;  // in the order of samples
  // The fields from here on describe only the images that are not damaged.
  std::map<std::string, int64_t>
      formats;                     // number of images of each format: "baseline JPEG", "PNG"
  int64_t gray = 0, cmyk = 0;      // number of gray JPEGs and PNGs, and of JPEGs with 4 components
  Size smallest, median, largest;  // by number of pixels; 0 x 0 if all images are damaged
};

// Decodes every image completely on `threads` threads, and computes the hashes in `images`, which
// must use Of::pixels. Needs 16 bytes of memory per image besides. Calls `progress` every 100
// images with the number done: from any thread, one call at a time. Throws MissingLibrary, and
// std::runtime_error for an error that concerns more than one image.
DatasetCheck check_dataset(const Fingerprints& images, int threads,
                           const std::function<void(int64_t)>& progress = {});

}  // namespace shoal::data
