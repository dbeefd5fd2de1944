#pragma once
// Copies a dataset to class folders or to one tar per class. Image bytes are unchanged.

#include <cstdint>
#include <functional>
#include <string>

#include "data/dataset.h"

namespace shoal::data {

enum class Arrangement {
  folders,  // DEST/CLASS/NAME
  tars,     // DEST/CLASS.tar with members NAME
};

struct ArrangeSummary {
  int64_t images = 0;   // images now in DEST
  int64_t kept = 0;     // number of these images that an earlier run had written
  int64_t damaged = 0;  // unreadable images, left out
};

// Copies `source` to the folder `dest`. The NAME of an image (see Arrangement) is the part of
// Dataset::name() after the last slash or colon. A file gets its final name only when it is
// complete. A repeated run keeps each image file or tar whose content is already right. Calls
// `progress` about every 100 images with the number done, and `warning` with a sentence for each
// damaged image: from any thread, one call at a time. Throws std::invalid_argument if two images of
// a class have the same name, if the name of a class or image cannot be a visible file in `dest` or
// is too long for a tar, or if an existing tar contains other images; std::runtime_error with path
// and reason for system errors.
ArrangeSummary arrange(const Dataset& source, const std::string& dest, Arrangement arrangement,
                       int threads, const std::function<void(int64_t)>& progress,
                       const std::function<void(const std::string&)>& warning);

}  // namespace shoal::data
