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
  // Number of packed images: in all, and of each kind (Packed).
  int64_t images = 0, original = 0, encoded = 0, pixels = 0;
  int64_t damaged = 0;  // unreadable images, left out
  int64_t resumed = 0;  // how many of `images` an earlier run had packed
  uint64_t file_bytes = 0, index_bytes = 0;

  int64_t& of(Packed kind) {
    return kind == Packed::original ? original : kind == Packed::encoded ? encoded : pixels;
  }
};

// Packs `source` into `path`: a file, or with shard_bytes a folder (shards.h). Each file has the
// extension .partial until it is complete. After an interruption, the same call continues the work;
// if the set is complete, the call only returns the counts, unless options.overwrite is set. Leaves
// out damaged images. Calls `progress` now and then with the number of images done, and `warning`
// for each damaged image; both in the calling thread. Throws std::invalid_argument for user errors
// (`path` contains something else, no readable image), std::runtime_error with path and reason for
// other errors (a full disk; another run that writes to `path`, see FileLock).
PackSummary write_pack(const Dataset& source, const std::string& path, const PackOptions& options,
                       const std::function<void(int64_t done)>& progress = {},
                       const std::function<void(const std::string&)>& warning = {});

// Returns the path of the packed set NAME: the file NAME.pack, or the folder NAME for shards.
std::string pack_path(const std::string& name, const PackOptions& options);

// Throws std::invalid_argument if `path` exists and was not written by write_pack() with these
// arguments. With shard_bytes, checks `path` only if it is a folder of shards; write_pack() checks
// all other paths.
void require_same_pack(const Dataset& source, const std::string& path, const PackOptions& options);

}  // namespace shoal::data
