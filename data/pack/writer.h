#pragma once
// Writes packed sets (format.h).

#include <cstdint>
#include <functional>
#include <string>

#include "data/data_options.h"
#include "data/dataset.h"
#include "data/pack/format.h"

namespace shoal::data {

struct PackSummary {
  int64_t images = 0, original = 0, encoded = 0, pixels = 0;
  int64_t damaged = 0;  // left out
  int64_t resumed = 0;  // found finished from an interrupted run
  uint64_t file_bytes = 0, index_bytes = 0;

  int64_t& of(Packed kind) {
    return kind == Packed::original ? original : kind == Packed::encoded ? encoded : pixels;
  }
};

// Packs `source` into `path`, a file, or with shard_bytes a folder (shards.h). Works under
// `path`.partial and renames at the end; after an interruption the same call goes on where it
// stopped. `progress` is told of images done now and then, `warning` of each damaged image,
// which is left out. Throws std::invalid_argument for what the user must mend (`path` exists,
// options without meaning, nothing that can be read), std::runtime_error with path and reason (a
// full disk, another run that writes there: FileLock).
PackSummary write_pack(const Dataset& source, const std::string& path, const PackOptions& options,
                       const std::function<void(int64_t done)>& progress = {},
                       const std::function<void(const std::string&)>& warning = {});

// True when `path` is what write_pack() of the same makes, whole. Throws std::invalid_argument when
// it is something else.
bool is_packed_already(const Dataset& source, const std::string& path, const PackOptions& options);

}  // namespace shoal::data
