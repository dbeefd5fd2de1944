#pragma once
// Finds the images in the files of a source, in the cache or with several threads.

#include <functional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/sources/scan.h"

namespace shoal::data {

// Calls `scan` for each file that is not in the cache for `kind` (scan.h) and caches the results.
// Throws std::invalid_argument if no file holds an image, and what `scan` throws.
std::vector<Scan> scan_files(const std::string& kind, const std::vector<SourceFile>& files,
                             const OpenOptions& options,
                             const std::function<Scan(const File&)>& scan);

// Throws std::invalid_argument: OpenOptions::labels cannot be used with `path`.
[[noreturn]] void refuse_labels(const std::string& path);

}  // namespace shoal::data
