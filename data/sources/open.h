#pragma once
// Opens files of records, told apart by their first bytes.

#include <memory>
#include <string>

#include "data/dataset.h"

namespace shoal::data {

// `path`: a file, a pattern (folder/patterns.h), or a folder without class folders. Skips files of
// unknown kind in a folder, with a call of options.warning. Throws std::invalid_argument if no file
// can be read or the files are of several kinds.
std::shared_ptr<const Dataset> open_records(const std::string& path, const OpenOptions& options);

// Whether open_records() can read the file: a tar, RecordIO, TFRecords. A manifest counts only if
// `named`, that is, if the user named this file.
bool is_record_file(const std::string& path, bool named);

// Whether the folder holds files but no folders, so that it cannot hold class folders.
bool holds_only_files(const std::string& folder);

}  // namespace shoal::data
