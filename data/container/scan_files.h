#pragma once
// Finds the images in the files of a source, from the cache or by scanning with several threads.

#include <functional>
#include <string>
#include <vector>

#include "data/container/scan.h"
#include "data/dataset.h"

namespace shoal::data {

// Returns the scan of each file. Calls `scan`, in several threads, for files that are not in the
// cache of this `kind` (scan.h), and caches the results. Calls options.warning if scans left out
// members of the files (Scan::left_out) or if the cache cannot be written. Throws
// std::invalid_argument if no file contains an image, and what `scan` throws.
std::vector<Scan> scan_files(const std::string& kind, const std::vector<SourceFile>& files,
                             const OpenOptions& options,
                             const std::function<Scan(const File&)>& scan);

// Throws std::invalid_argument with a message that OpenOptions::labels cannot be used, because
// `path` contains its own classes.
[[noreturn]] void refuse_labels(const std::string& path);

}  // namespace shoal::data
