#pragma once
// Prints tables on stdout.

#include <string>
#include <vector>

#include "app/commands/printable_row.h"
#include "base/format/table.h"
#include "base/log.h"

namespace shoal::app {

// Prints table_lines(columns, rows), each as a printable_row(). Escapes the texts first, because
// the widths of the columns depend on them.
inline void print_table(const std::vector<Column>& columns,
                        std::vector<std::vector<std::string>> rows) {
  for (std::vector<std::string>& row : rows)
    for (std::string& text : row) text = printable(text);
  for (const std::string& line : table_lines(columns, rows)) log::line(printable_row(line));
}

}  // namespace shoal::app
