#pragma once
// Writes a dataset anew as class folders or as one tar per class, bytes untouched.

#include <cstdint>
#include <functional>
#include <string>

#include "data/dataset.h"

namespace shoal::data {

enum class Arrangement {
  folders,  // DEST/CLASS/NAME
  tars,     // DEST/CLASS.tar, which holds NAME after NAME
};

struct ArrangeSummary {
  int64_t images = 0;   // that lie in DEST now
  int64_t kept = 0;     // of these, left by an interrupted run
  int64_t damaged = 0;  // could not be read, and are missing
};

// NAME is the last part of Dataset::name(). Each file appears under its name when it is whole, so
// an interrupted run goes on where it was: an image of the right size stays, and a tar that is
// there. `progress`: images done, now and then, from any thread, one call at a time; `warning`: a
// sentence for each damaged image. Throws std::invalid_argument when two images of a class have
// one name, std::runtime_error with path and reason where the system fails.
ArrangeSummary arrange(const Dataset& source, const std::string& dest, Arrangement arrangement,
                       int threads, const std::function<void(int64_t)>& progress,
                       const std::function<void(const std::string&)>& warning);

}  // namespace shoal::data
