#include "base/format/table.h"

#include <algorithm>

#include "base/text.h"

namespace shoal {

std::vector<std::string> table_lines(const std::vector<Column>& columns,
                                     const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::string> lines(rows.size() + 1);
  for (size_t i = 0; i < columns.size(); ++i) {
    std::vector<std::string> cells = {columns[i].heading};
    for (const auto& row : rows) cells.push_back(row[i]);
    size_t width = 0;
    for (const std::string& cell : cells) width = std::max(width, character_count(cell));
    for (size_t line = 0; line < cells.size(); ++line) {
      const std::string blanks(width - character_count(cells[line]), ' ');
      lines[line] +=
          (i > 0 ? "  " : "") + (columns[i].right ? blanks + cells[line] : cells[line] + blanks);
    }
  }
  for (std::string& line : lines) line.resize(line.find_last_not_of(' ') + 1);
  return lines;
}

}  // namespace shoal
