#include "base/file/json_lines.h"

#include <string>

namespace shoal {

LeftOutLines read_json_lines(std::istream& text,
                             const std::function<void(const nlohmann::json&)>& take) {
  LeftOutLines left_out;
  for (std::string line; std::getline(text, line);) {
    if (line.empty()) continue;
    const nlohmann::json row = parse_json(line);
    if (row.is_object())
      take(row);
    else if (text.eof())
      left_out.torn = true;
    else
      ++left_out.damaged;
  }
  return left_out;
}

}  // namespace shoal
