#pragma once
// Writes packed sets (format.h).

#include <cstdint>
#include <functional>
#include <string>

#include "data/dataset.h"

namespace shoal::data {

struct PackOptions {
  // Pictures whose longer side has more pixels are reduced to that and encoded anew; 0: none are.
  int64_t max_side = 0;
  int quality = 90;       // of pictures that are encoded anew, 1 … 100; 4:2:0
  double raw_share = 0;   // of pictures, drawn by their place, that are kept as pixels
  bool index = true;      // seek indexes of baseline JPEGs
  bool overwrite = false;
  int threads = 1;
};

struct PackSummary {
  int64_t pictures = 0, original = 0, reduced = 0, pixels = 0;
  int64_t damaged = 0;  // left out
  int64_t resumed = 0;  // found finished from an interrupted run
  uint64_t file_bytes = 0, index_bytes = 0;
};

// Packs `source` into `path`. Works under `path`.partial and renames at the end; after an
// interruption the same call goes on where it stopped. `progress` is told of pictures done now and
// then, `warning` of each damaged picture, which is left out. Throws std::invalid_argument for what
// the user must mend (`path` exists, options without meaning, nothing that can be read),
// std::runtime_error with path and reason (a full disk).
PackSummary write_pack(const Dataset& source, const std::string& path, const PackOptions& options,
                       const std::function<void(int64_t done)>& progress = {},
                       const std::function<void(const std::string&)>& warning = {});

}  // namespace shoal::data
