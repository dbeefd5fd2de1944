#pragma once
// Reads files with one JSON object per line, such as history.jsonl, to which a run may still be
// writing.

#include <cstdint>
#include <functional>
#include <istream>

#include "base/json.h"

namespace shoal {

struct LeftOutLines {
  bool torn = false;  // the last line is incomplete: it is being written, or its writer was killed
  int64_t damaged = 0;  // number of other lines that are not JSON objects
};

// Calls `take` with the object in each line. Skips empty lines. Leaves out lines that are not JSON
// objects and returns their number; does not throw for them.
LeftOutLines read_json_lines(std::istream& text,
                             const std::function<void(const nlohmann::json&)>& take);

}  // namespace shoal
