#pragma once
// Opens files of many images (formats.h) and manifests. The content of a file determines its
// format; a zip must also be named .zip.

#include <memory>
#include <string>

#include "data/dataset.h"

namespace shoal::data {

// Opens `path`: a file, a pattern (folder/patterns.h), or a folder without class folders. In a
// folder, skips files of unknown format and calls options.warning with the name of one of them. A
// folder of images needs options.labels. Throws std::invalid_argument if no file can be read or the
// files have different formats.
std::shared_ptr<const Dataset> open_records(const std::string& path, const OpenOptions& options);

// Whether open_records() can read the file: a file of many images, or a manifest. `named`: whether
// the user named the file itself; otherwise a manifest does not count.
bool is_record_file(const std::string& path, bool named);

// Returns a message that says how to unpack the file if it is compressed, else "".
std::string compression_error(const std::string& path);

// Whether `folder` is a folder that contains files but no folders. Ignores hidden entries.
bool holds_only_files(const std::string& folder);

}  // namespace shoal::data
