#pragma once
// Finds the images in the files of a source: from the cache, else by several threads.

#include <functional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/sources/scan.h"

namespace shoal::data {

// Calls `scan` for each file that is not in the cache of that `kind` (scan.h), and keeps what it
// returns there. Throws std::invalid_argument when nothing holds an image, and what `scan` throws.
std::vector<Scan> scan_files(const std::string& kind, const std::vector<SourceFile>& files,
                             const OpenOptions& options,
                             const std::function<Scan(const File&)>& scan);

// Says that OpenOptions::labels has no use for `path`.
[[noreturn]] void refuse_labels(const std::string& path);

}  // namespace shoal::data
