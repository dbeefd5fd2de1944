#pragma once
// Prevents SageMaker from parsing stdout lines as metrics if they begin with an image's path or a
// tensor's name.

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "base/text.h"

namespace shoal::app {

// Whether a metric definition (local/metric_definitions.h) could match the line. May also return
// true for other lines. Each definition needs one of the characters : | * [ before any slash, so
// only the text up to the first of them matters. Characters that are not ASCII count as blanks,
// letters and digits, because Python's \s, \w and \d match some of them.
inline bool imitates_metric(std::string_view line) {
  const size_t end = line.find_first_of(":|*[/");
  if (end == line.npos || line[end] == '/') return false;
  const std::string_view start = line.substr(0, end);
  const auto has_only = [&](std::string_view characters) {
    return std::ranges::all_of(start, [&](char c) {
      return static_cast<unsigned char>(c) >= 0x80 || characters.find(c) != characters.npos;
    });
  };
  // mpirun and horovodrun may print the time before their prefix: "Thu Jan  1 00:00:00 1970[1,0]".
  const bool is_date = start.size() >= 8 && start[3] == ' ' && start[4] != ' ' && start[7] == ' ';
  switch (line[end]) {
    case '|':
      return start.ends_with(' ');  // docker compose: "worker-1  | "
    case '*':
      return has_only(" ");
    case '[':
      return start.empty() || is_date;
    default: {
      constexpr std::array kLines{"train", "valid", "util", "Epoch", "Test", "Total time"};
      return has_only(" 0123456789") || is_date || std::ranges::find(kLines, start) != kLines.end();
    }
  }
}

// Returns `text` as one line that is safe to print on stdout: escaped by printable(), and with "./"
// before it if it could be taken for a metric line.
inline std::string printable_row(std::string_view text) {
  const std::string line = printable(text);
  return (imitates_metric(line) ? "./" : "") + line;
}
}  // namespace shoal::app
