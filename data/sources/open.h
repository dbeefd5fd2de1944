#pragma once
// Opens what is no folder of class folders: files of records, told apart by their first bytes.

#include <memory>
#include <string>

#include "data/dataset.h"

namespace shoal::data {

// `path`: a file, a pattern (patterns.h), or a folder without class folders. Files of a folder that
// are of no kind are left out, which options.warning is told. Throws std::invalid_argument when
// nothing is of a kind that can be read, or several kinds stand together.
std::shared_ptr<const Dataset> open_records(const std::string& path, const OpenOptions& options);

// True when the file is of a kind that open_records() reads: a tar, RecordIO, TFRecords; a manifest
// only where the user names the file itself.
bool is_record_file(const std::string& path, bool named);

// True when the folder holds files but no folders, so that it cannot hold class folders.
bool holds_only_files(const std::string& folder);

// True when `source` (as open_dataset takes it) is TFRecords.
bool holds_tf_records(const std::string& source);

}  // namespace shoal::data
