#pragma once
// Reads files with one JSON object per line, such as history.jsonl, which a run may be writing.

#include <cstdint>
#include <functional>
#include <istream>

#include "base/json.h"

namespace shoal {

struct LeftOutLines {
  bool torn = false;  // the last line is incomplete: it is being written, or its writer was killed
  int64_t damaged = 0;  // other lines that are no objects
};

// Calls `take` with each object. Returns which lines were left out; empty lines do not count.
LeftOutLines read_json_lines(std::istream& text,
                             const std::function<void(const nlohmann::json&)>& take);

}  // namespace shoal
