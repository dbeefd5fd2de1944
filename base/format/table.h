#pragma once
// Lays out tables of text.

#include <string>
#include <vector>

namespace shoal {

struct Column {
  std::string heading;
  bool right = false;  // aligned to the right, as for numbers
};

// Returns the lines of a table, beginning with the headings. Each row has one text per column.
// Each column is as wide as its longest text, in UTF-8 characters. Two blanks separate columns.
std::vector<std::string> table_lines(const std::vector<Column>& columns,
                                     const std::vector<std::vector<std::string>>& rows);

}  // namespace shoal
