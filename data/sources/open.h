#pragma once
// Opens files of records. The first bytes of a file determine its format.

#include <memory>
#include <string>

#include "data/dataset.h"

namespace shoal::data {

// Opens `path`: a file, a pattern (folder/patterns.h), or a folder without class folders. Skips
// files of unknown format in a folder and calls options.warning with the name of one of them.
// Throws std::invalid_argument if no file can be read or the files have different formats.
std::shared_ptr<const Dataset> open_records(const std::string& path, const OpenOptions& options);

// Whether open_records() can read the file: a tar, RecordIO, TFRecords, or a manifest. A manifest
// counts only if `named`: the user named this very file.
bool is_record_file(const std::string& path, bool named);

// Whether the folder contains files but no folders, and thus no class folders.
bool holds_only_files(const std::string& folder);

}  // namespace shoal::data
