#pragma once
// Lists for people: as many entries in a line as fit. Torch-free.

#include <algorithm>
#include <string>
#include <vector>

namespace shoal::train {

// `heading` in a column of `indent` characters, then `entries` with two blanks between them. Lines
// have `width` characters at most, unless one entry is longer; further lines are indented alike.
// Counts bytes.
inline std::string wrapped(const std::string& heading, const std::vector<std::string>& entries,
                           size_t indent, size_t width = 80) {
  std::string line = heading, text;
  line.resize(std::max(indent, heading.size() + 1), ' ');
  bool empty = true;
  for (const std::string& entry : entries) {
    if (!empty && line.size() + 2 + entry.size() > width) {
      text += line + "\n";
      line.assign(indent, ' ');
      empty = true;
    }
    line += (empty ? "" : "  ") + entry;
    empty = false;
  }
  return text + line;
}

}  // namespace shoal::train
