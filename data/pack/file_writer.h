#pragma once
// Writes one file of a packed set (format.h). Used by writer.h only.

#include <cstdint>
#include <functional>
#include <string>

#include "data/pack/writer.h"

namespace shoal::data {

using PackProgress = std::function<void(int64_t done)>;
using PackWarning = std::function<void(const std::string&)>;

struct PackedFile {
  PackSummary summary;
  int64_t next = 0;  // the first sample for the next file
};

// Packs the samples from `first` on into `path`, until the end of the dataset or, with shard_bytes,
// until the file has at least this size. `request`: hash of everything that determines the content.
// Continues the work of an interrupted call with the same `request`. If all samples from `first` on
// are damaged, writes no file: throws std::invalid_argument if `first` is 0, else returns a summary
// without images. Throws std::runtime_error with path and reason for system errors.
PackedFile write_pack_file(const Dataset& source, uint64_t request, const std::string& path,
                           const PackOptions& options, int64_t first, const PackProgress& progress,
                           const PackWarning& warning);

// Removes PATH.partial.table, which remains if the process is killed just after it has finished the
// file `path`. Ignores errors.
void remove_table(const std::string& path);

}  // namespace shoal::data
